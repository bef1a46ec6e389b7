// Metrics over prometheus-cpp's registry; the gate's series are in gate_metrics.cc.
#include "obs/metrics.h"

#include <map>
#include <mutex>
#include <set>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "base/limits.h"

namespace dripgate::obs {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;

namespace {

constexpr std::string_view kOther = "other";

// Seconds between slot and release: punctual timers sit in the first, an outage in the last.
const Histogram::BucketBoundaries kLateSeconds{0.01, 0.05, 0.1, 0.25, 0.5, 1,    2.5,
                                               5,    10,   30,  60,   300, 1800, 7200};

// The words of drip/reasons.h: an alert on their increase must see the first letter too.
constexpr std::initializer_list<std::string_view> kReasons{
    "malformed_payload", "missing_key",    "invalid_cost",        "too_many_hops",
    "id_conflict",       "beyond_horizon", "frozen_past_horizon", "cost_exceeds_limit",
    "store_refused",     "timer_refused",  "too_large",           "claim_lost",
    "overflow_refused",  "poison",         "refused_by_sink",     "attempts_exhausted"};

double seconds_of(WallTime time) {
  return static_cast<double>(to_us(time)) / 1e6;
}

/// The values one label has had so far; a new one beyond the bound becomes "other".
class LabelValues {
 public:
  std::string admit(std::string_view value) {
    const std::scoped_lock lock(mutex_);
    if (seen_.contains(value)) return std::string(value);
    if (seen_.size() >= kMetricLabelsMax) return std::string(kOther);
    return *seen_.emplace(value).first;
  }

 private:
  std::mutex mutex_;
  std::set<std::string, std::less<>> seen_;
};

/// One stream's counters of a family, by its one free label. Looked up once per value: these are counted per
/// event.
class CountersByLabel {
 public:
  CountersByLabel(Family<Counter>& family, std::string stream, std::string label, LabelValues& values,
                  std::initializer_list<std::string_view> from_the_start = {})
      : family_(family), stream_(std::move(stream)), label_(std::move(label)), values_(values) {
    // A rate over a series that appears with its first event misses that event.
    for (const std::string_view value : from_the_start) at(value);
  }
  void add(std::string_view value) {
    const std::scoped_lock lock(mutex_);
    at(value).Increment();
  }

 private:
  Counter& at(std::string_view value) {
    const auto known = counters_.find(value);
    if (known != counters_.end()) return *known->second;
    const std::string admitted = values_.admit(value);
    Counter& counter = family_.Add({{"stream", stream_}, {label_, admitted}});
    counters_.emplace(admitted, &counter);
    return counter;
  }

  Family<Counter>& family_;
  std::string stream_;
  std::string label_;
  LabelValues& values_;
  std::mutex mutex_;
  std::map<std::string, Counter*, std::less<>> counters_;
};

}  // namespace

struct Families {
  prometheus::Registry registry;
  LabelValues streams, verdicts, outcomes, reasons, ports, routes, refusals;

  Family<Counter>& counter(const char* name, const char* text) {
    return prometheus::BuildCounter().Name(name).Help(text).Register(registry);
  }
  Family<Gauge>& gauge(const char* name, const char* text) {
    return prometheus::BuildGauge().Name(name).Help(text).Register(registry);
  }

  Family<Counter>& verdict =
      counter("dripgate_verdicts_total", "Events from the source, by what became of them.");
  Family<Counter>& bookings = counter("dripgate_bookings_total", "Events booked for a later slot.");
  Family<Counter>& releases = counter("dripgate_releases_total", "Events let go, at once or dispatched.");
  Family<Counter>& rebooks = counter("dripgate_rebooks_total", "Firings that found no room.");
  Family<Counter>& deliveries = counter("dripgate_deliveries_total", "Answers of the sink, by outcome.");
  Family<Counter>& dead = counter("dripgate_dead_lettered_total", "Events dead-lettered, by reason.");
  Family<Counter>& redeliveries = counter("dripgate_redeliveries_total", "Events the source gave out again.");
  Family<Counter>& missing = counter("dripgate_missing_keys_total", "Events without a key part.");
  Family<Counter>& errors =
      counter("dripgate_port_errors_total", "Failures of stores and brokers, by class.");
  Family<Histogram>& late = prometheus::BuildHistogram()
                                .Name("dripgate_late_dispatch_seconds")
                                .Help("From the slot to the release of dispatched events.")
                                .Register(registry);
  Family<Gauge>& paused = gauge("dripgate_stream_paused", "1 while the stream is paused.");
  Family<Gauge>& in_flight = gauge("dripgate_in_flight", "Deliveries in our hands, unsettled.");
  Family<Gauge>& backlog = gauge("dripgate_backlog", "Events booked and waiting for their slot.");
  Family<Gauge>& parked = gauge("dripgate_dead_letters", "Dead letters parked now.");
  Family<Gauge>& oldest =
      gauge("dripgate_oldest_slot_timestamp_seconds", "The earliest slot still waiting; 0: none.");
  Family<Gauge>& overdue =
      gauge("dripgate_oldest_slot_overdue_seconds", "How long the earliest slot is past.");
  Family<Gauge>& eta = gauge("dripgate_backlog_eta_seconds", "Until the last booked event is due.");
  Family<Counter>& http = counter("dripgate_http_requests_total", "Requests, by route and status.");
  Family<Counter>& refused = counter("dripgate_ingest_refused_total", "Ingest requests refused, by reason.");
  Family<Gauge>& policy = gauge("dripgate_policy_version", "1 for the version of the config in force.");
  Family<Counter>& reloads = counter("dripgate_reloads_total", "Looks at a changed config, by result.");
  Family<Gauge>& last_reload =
      gauge("dripgate_last_reload_timestamp_seconds", "When the config in force came.");
  Family<Gauge>& ready = gauge("dripgate_ready", "1 while /readyz says yes.");
};

namespace {

class StreamSeries final : public StreamMetrics {
 public:
  StreamSeries(Families& families, const std::string& id)
      : families_(families),
        id_(id),
        bookings_(families.bookings.Add({{"stream", id}})),
        releases_now_(families.releases.Add({{"stream", id}, {"kind", "now"}})),
        releases_late_(families.releases.Add({{"stream", id}, {"kind", "dispatched"}})),
        rebooks_(families.rebooks.Add({{"stream", id}})),
        redeliveries_(families.redeliveries.Add({{"stream", id}})),
        missing_(families.missing.Add({{"stream", id}})),
        late_(families.late.Add({{"stream", id}}, kLateSeconds)),
        verdicts_(families.verdict, id, "verdict", families.verdicts,
                  {"now", "scheduled", "dead_letter", "duplicate", "conflict"}),
        outcomes_(families.deliveries, id, "outcome", families.outcomes,
                  {"confirmed", "expired", "rate_limited", "failed", "refused"}),
        reasons_(families.dead, id, "reason", families.reasons, kReasons) {}

  void verdict(std::string_view kind) override { verdicts_.add(kind); }
  void booking() override { bookings_.Increment(); }
  void release(Duration late) override {
    if (late == Duration{0}) return releases_now_.Increment();
    releases_late_.Increment();
    late_.Observe(static_cast<double>(late.count()) / 1e6);
  }
  void rebook() override { rebooks_.Increment(); }
  void delivery(std::string_view outcome) override { outcomes_.add(outcome); }
  void dead_letter(std::string_view reason) override { reasons_.add(reason); }
  void redelivery() override { redeliveries_.Increment(); }
  void missing_key() override { missing_.Increment(); }
  void port_error(std::string_view port, ErrorCode code) override {
    families_.errors.Add({{"stream", id_}, {"port", families_.ports.admit(port)}, {"class", to_string(code)}})
        .Increment();
  }

  void set(const StreamGauges& gauges, WallTime now) override {
    const prometheus::Labels labels{{"stream", id_}};
    families_.paused.Add(labels).Set(gauges.paused ? 1 : 0);
    families_.in_flight.Add(labels).Set(static_cast<double>(gauges.in_flight));
    families_.backlog.Add(labels).Set(static_cast<double>(gauges.backlog));
    families_.parked.Add(labels).Set(static_cast<double>(gauges.dead_letters));
    families_.oldest.Add(labels).Set(gauges.oldest_slot ? seconds_of(*gauges.oldest_slot) : 0);
    families_.overdue.Add(labels).Set(until(now, gauges.oldest_slot.value_or(now)));
    families_.eta.Add(labels).Set(until(gauges.eta.value_or(now), now));
  }

 private:
  static double until(WallTime later, WallTime earlier) {
    return later > earlier ? seconds_of(later) - seconds_of(earlier) : 0;
  }

  Families& families_;
  std::string id_;
  Counter& bookings_;
  Counter& releases_now_;
  Counter& releases_late_;
  Counter& rebooks_;
  Counter& redeliveries_;
  Counter& missing_;
  Histogram& late_;
  CountersByLabel verdicts_;
  CountersByLabel outcomes_;
  CountersByLabel reasons_;
};

/// Counters of every route and status, found without making a label: they are counted per request.
class RequestCounters {
 public:
  explicit RequestCounters(Families& families) : families_(families) {}

  Counter& at(std::string_view route, int status) {
    const std::scoped_lock lock(mutex_);
    auto of_route = counters_.find(route);
    if (of_route == counters_.end()) of_route = counters_.try_emplace(families_.routes.admit(route)).first;
    Counter*& counter = of_route->second[status];
    if (counter == nullptr) {
      const std::string code = status >= 100 && status < 600 ? std::to_string(status) : std::string(kOther);
      counter = &families_.http.Add({{"route", of_route->first}, {"status", code}});
    }
    return *counter;
  }

 private:
  Families& families_;
  std::mutex mutex_;
  std::map<std::string, std::map<int, Counter*>, std::less<>> counters_;
};

}  // namespace

struct Metrics::Impl {
  Families families;
  RequestCounters requests{families};
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<StreamSeries>, std::less<>> streams;
  Gauge* version = nullptr;  // of the config in force
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {
  for (const char* result : {"accepted", "refused"}) impl_->families.reloads.Add({{"result", result}});
}
Metrics::~Metrics() = default;

StreamMetrics& Metrics::stream(std::string_view id) {
  const std::string admitted = impl_->families.streams.admit(id);
  const std::scoped_lock lock(impl_->mutex);
  auto& series = impl_->streams[admitted];
  if (!series) series = std::make_unique<StreamSeries>(impl_->families, admitted);
  return *series;
}

void Metrics::http_request(std::string_view route, int status) {
  impl_->requests.at(route, status).Increment();
}

void Metrics::ingest_refused(std::string_view reason) {
  impl_->families.refused.Add({{"reason", impl_->families.refusals.admit(reason)}}).Increment();
}

void Metrics::config_loaded(const std::string& version, WallTime at) {
  const std::scoped_lock lock(impl_->mutex);
  // One series at a time: versions would pile up otherwise.
  if (impl_->version != nullptr) impl_->families.policy.Remove(impl_->version);
  impl_->version = &impl_->families.policy.Add({{"version", version}});
  impl_->version->Set(1);
  impl_->families.last_reload.Add({}).Set(seconds_of(at));
  impl_->families.reloads.Add({{"result", "accepted"}}).Increment();
}

void Metrics::reload_refused() {
  impl_->families.reloads.Add({{"result", "refused"}}).Increment();
}

void Metrics::set_ready(bool ready) {
  impl_->families.ready.Add({}).Set(ready ? 1 : 0);
}

std::string Metrics::text() const {
  return prometheus::TextSerializer{}.Serialize(impl_->families.registry.Collect()) + gate_.text();
}

}  // namespace dripgate::obs
