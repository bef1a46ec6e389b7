// POST /v1/streams/{id}/events: one event, or NDJSON.
#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "base/limits.h"
#include "broker/attribute_names.h"
#include "http/problem.h"
#include "obs/trace.h"
#include "server/body.h"
#include "server/ndjson.h"
#include "server/visit.h"

namespace dripgate::server {

using Json = nlohmann::ordered_json;

namespace {

/// An ingest call: what was sent, and per line what is already known to be refused.
struct Batch {
  bool ndjson = false;
  std::vector<IngestEvent> events;
  std::vector<std::size_t> event_lines;                // line of each event
  std::vector<std::pair<std::size_t, Error>> refused;  // lines that never become events
};

// Dripgate-Id, or why it cannot be one.
Result<std::string> given_id(const Visit& visit) {
  const std::string* id = http::find(visit.request.headers, broker::kIdAttribute);
  if (id == nullptr) return std::string();
  const bool printable = std::ranges::all_of(*id, [](char c) { return c > ' ' && c < 0x7f; });
  if (!id->empty() && id->size() <= kEventIdBytesMax && printable) return *id;
  return fail(
      ErrorCode::invalid_argument,
      "Dripgate-Id: accepted are 1 to " + std::to_string(kEventIdBytesMax) + " printable ASCII characters");
}

// What travels with the event besides its bytes.
Result<broker::Attributes> attributes_of(const Visit& visit, bool ndjson) {
  constexpr std::string_view kPrefix = broker::kAttributeHeaderPrefix;
  broker::Attributes attributes;
  for (const auto& [name, value] : visit.request.headers) {
    if (!http::same_name(std::string_view(name).substr(0, kPrefix.size()), kPrefix)) continue;
    std::string attribute = name.substr(kPrefix.size());
    std::ranges::transform(attribute, attribute.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (attribute.empty() || broker::is_reserved(attribute)) {
      return fail(ErrorCode::invalid_argument,
                  "header '" + name +
                      "': accepted is Dripgate-Attr-<name>, where the name does not begin with dripgate-");
    }
    broker::set(attributes, attribute, value);
  }
  if (obs::parse_traceparent(http::value_of(visit.request.headers, "traceparent"))) {
    broker::set(attributes, "traceparent", std::string(http::value_of(visit.request.headers, "traceparent")));
    const std::string_view state = http::value_of(visit.request.headers, "tracestate");
    if (!state.empty()) broker::set(attributes, "tracestate", std::string(state));
  }
  const std::string_view type = http::value_of(visit.request.headers, "Content-Type");
  // curl's default for any -d says nothing about the event.
  const bool telling = !ndjson && !type.empty() && !http::same_name(type, "application/json") &&
                       !http::same_name(type, "application/x-www-form-urlencoded");
  if (telling) broker::set(attributes, "content-type", std::string(type));
  return attributes;
}

Error line_too_large() {
  return {.code = ErrorCode::too_large,
          .transient = false,
          .detail = "one event is over " + std::to_string(kLineBytesMax) + " bytes"};
}

// The stream's template names the events of a batch; the header names those that it cannot.
bool has_id_template(const Visit& visit) {
  const auto& streams = visit.config->streams;
  const auto it =
      std::ranges::find_if(streams, [&](const auto& s) { return s.stream->id == visit.stream(); });
  return it != streams.end() && it->stream->event_id.has_value();
}

Result<Batch> single_event(Visit& visit, std::string id, broker::Attributes attributes) {
  Batch batch;
  std::string& body = visit.request.body;
  if (body.empty()) return fail(ErrorCode::invalid_argument, "the body is empty; accepted: one event");
  if (body.size() > kLineBytesMax) return std::unexpected(line_too_large());
  batch.event_lines.push_back(1);
  batch.events.push_back({.id = std::move(id), .body = std::move(body), .attributes = std::move(attributes)});
  return batch;
}

Result<Batch> event_lines(const Visit& visit, const std::string& id, const broker::Attributes& attributes) {
  Batch batch{.ndjson = true, .events = {}, .event_lines = {}, .refused = {}};
  const bool by_template = has_id_template(visit);
  const auto lines = split_lines(visit.request.body);
  if (lines.empty())
    return fail(ErrorCode::invalid_argument, "the body holds no line; accepted: one event per line");
  if (lines.size() > kIngestEventsMax) {
    return fail(ErrorCode::too_large, std::to_string(lines.size()) + " events in one request are over " +
                                          std::to_string(kIngestEventsMax) + ": send them in parts");
  }
  for (const NdjsonLine& line : lines) {
    if (line.text.size() > kLineBytesMax) {
      batch.refused.emplace_back(line.number, line_too_large());
      continue;
    }
    const std::string line_id = id.empty() ? "" : id + "-" + std::to_string(line.number);
    batch.event_lines.push_back(line.number);
    batch.events.push_back({.id = by_template ? "" : line_id,
                            .body = std::string(line.text),
                            .attributes = attributes,
                            .fallback_id = by_template ? line_id : ""});
  }
  return batch;
}

Result<Batch> read_batch(Visit& visit) {
  if (auto query = check_query(visit.target, {}); !query) return std::unexpected(query.error());
  auto id = given_id(visit);
  if (!id) return std::unexpected(id.error());
  const bool ndjson = is_ndjson(http::value_of(visit.request.headers, "Content-Type"));
  auto attributes = attributes_of(visit, ndjson);
  if (!attributes) return std::unexpected(attributes.error());
  return ndjson ? event_lines(visit, *id, *attributes)
                : single_event(visit, std::move(*id), std::move(*attributes));
}

std::optional<Error> error_of(const IngestAnswer& answer) {
  if (answer.error) return answer.error;
  if (answer.accepted_only || answer.verdict.kind != drip::EventVerdict::Kind::conflict) return std::nullopt;
  return Error{.code = ErrorCode::conflict,
               .transient = false,
               .detail = "the id '" + answer.id + "' was used before for an event with another body"};
}

Json refused_line(std::size_t line, const Error& error, const std::string& id) {
  Json out{{"line", line}, {"status", status_of(error.code)}, {"error", error.detail}};
  if (!id.empty()) out["id"] = id;
  return out;
}

void refuse(Visit& visit, const Error& error) {
  visit.site->context.metrics.ingest_refused(to_string(error.code));
  visit.answer(problem_of(error));
}

void answer_single(Visit& visit, const IngestAnswer& answer) {
  if (const auto error = error_of(answer)) return refuse(visit, *error);
  visit.answer(json_response(202, render_accepted(answer)));
}

// In the order of the body: answered events and lines that never became one.
void answer_lines(Visit& visit, const Batch& batch, const std::vector<IngestAnswer>& answers) {
  std::string body;
  auto refused = batch.refused.begin();
  const auto take_refused = [&](std::size_t before) {
    for (; refused != batch.refused.end() && refused->first < before; ++refused) {
      body += to_text(refused_line(refused->first, refused->second, "")) + "\n";
    }
  };
  for (std::size_t i = 0; i < answers.size() && i < batch.event_lines.size(); ++i) {
    take_refused(batch.event_lines[i]);
    const auto error = error_of(answers[i]);
    body += to_text(error ? refused_line(batch.event_lines[i], *error, answers[i].id)
                          : render_accepted(answers[i]));
    body += '\n';
    if (error) visit.site->context.metrics.ingest_refused(to_string(error->code));
  }
  take_refused(static_cast<std::size_t>(-1));
  visit.answer(
      {.status = 202, .headers = {{"Content-Type", "application/x-ndjson"}}, .body = std::move(body)});
}

// True: answered, over the rate.
bool over_rate(Visit& visit, std::size_t events) {
  const std::int64_t rate = visit.config->server.ingest_rate_max;
  const auto wait = visit.site->ingest_meter.admit(rate, events, visit.service().now());
  if (!wait) {
    refuse(visit, wait.error());
    return true;
  }
  if (!*wait) return false;
  visit.site->context.metrics.ingest_refused("rate");
  visit.answer(http::problem(
      429, "rate-limited", "over " + std::to_string(rate) + " events per second (server.ingestRate)", *wait));
  return true;
}

// True: answered. Events are stored as they come: compressed bytes would all end as dead letters.
bool encoded(Visit& visit) {
  const std::string_view encoding = http::value_of(visit.request.headers, "Content-Encoding");
  if (encoding.empty() || http::same_name(encoding, "identity")) return false;
  visit.site->context.metrics.ingest_refused("encoding");
  visit.answer(http::problem(415, "content-encoding", "accepted: bodies without Content-Encoding"));
  return true;
}

void ingest(const VisitPtr& visit) {
  if (encoded(*visit)) return;
  auto batch = read_batch(*visit);
  if (!batch) return refuse(*visit, batch.error());
  if (over_rate(*visit, batch->events.size())) return;
  if (batch->events.empty()) return answer_lines(*visit, *batch, {});
  auto events = std::move(batch->events);
  const std::string stream = visit->stream();
  StreamService& service = visit->service();
  service.ingest(stream, std::move(events),
                 [visit, batch = std::move(*batch)](Result<std::vector<IngestAnswer>> answers) {
                   if (!answers) return refuse(*visit, answers.error());
                   if (batch.ndjson) return answer_lines(*visit, batch, *answers);
                   if (!answers->empty()) return answer_single(*visit, answers->front());
                   refuse(*visit,
                          {.code = ErrorCode::io, .transient = false, .detail = "no answer for the event"});
                 });
}

constexpr std::array kEndpoints{Endpoint{.method = "POST",
                                         .path = "/v1/streams/{id}/events",
                                         .scopes = {auth::Scope::ingest},
                                         .open = false,
                                         .run = &ingest,
                                         .body_bytes_max = kBodyBytesMax}};

}  // namespace

std::span<const Endpoint> ingest_endpoints() {
  return kEndpoints;
}

}  // namespace dripgate::server
