// v1::Scheduler: the bookings of one stream on a host.
#include "dripgate/scheduler.h"

#include <algorithm>
#include <utility>

#include "base/sha256.h"
#include "embed/bookings.h"
#include "embed/code_config.h"
#include "embed/config_source.h"
#include "embed/host.h"

namespace dripgate::embed {
namespace {

core::BookingPolicyPtr booking_of(const config::Config& config, const std::string& stream) {
  const auto found = std::ranges::find(
      config.streams, stream, [](const auto& settings) -> const auto& { return settings.stream->id; });
  return found == config.streams.end() ? nullptr : found->stream->booking;
}

Origin origin_of(v1::SchedulerOptions& options) {
  return {.file = std::move(options.config_file),
          .text = std::move(options.config_text),
          .code = options.limits.empty() ? std::string() : code_stream(options),
          .code_name = "stream in code",
          .environment = std::move(options.environment)};
}

}  // namespace
}  // namespace dripgate::embed

namespace dripgate::v1 {

struct Scheduler::Impl {
  embed::HostPtr host;
  std::shared_ptr<embed::ConfigSource> config;
  Post post;
  std::shared_ptr<embed::Bookings> bookings{};

  ~Impl() {
    host->run([&] { bookings.reset(); });
  }

  template <class T, class Call>
  auto begin(Call call) {
    return [weak = std::weak_ptr(bookings), call = std::move(call)](embed::Owed<T> owed) mutable {
      if (const auto alive = weak.lock()) call(*alive, std::move(owed));
    };
  }
  auto reserve(const ReserveRequest& request) {
    ReserveRequest kept = request;
    kept.body = {};  // may be gone before the store is asked
    return begin<Reservation>(
        [kept = std::move(kept), digest = digest64(request.body)](auto& bookings, auto owed) {
          bookings.reserve(kept, digest, std::move(owed));
        });
  }
  auto gate(Ticket ticket) {
    return begin<Firing>(
        [ticket = std::move(ticket)](auto& bookings, auto owed) { bookings.gate(ticket, std::move(owed)); });
  }
  auto settle(std::vector<Ticket> tickets) {
    return begin<Done>([tickets = std::move(tickets)](auto& bookings, auto owed) {
      bookings.settle(tickets, std::move(owed));
    });
  }
  auto release(Ticket ticket) {
    return begin<Done>([ticket = std::move(ticket)](auto& bookings, auto owed) {
      bookings.release(ticket, std::move(owed));
    });
  }
  auto freeze(std::string key, TimePoint until) {
    return begin<Done>([key = std::move(key), until](auto& bookings, auto owed) {
      bookings.freeze(key, until, std::move(owed));
    });
  }
  auto thaw(std::string key) {
    return begin<Done>(
        [key = std::move(key)](auto& bookings, auto owed) { bookings.thaw(key, std::move(owed)); });
  }
  auto inspect(std::string key) {
    return begin<KeyState>(
        [key = std::move(key)](auto& bookings, auto owed) { bookings.inspect(key, std::move(owed)); });
  }
};

Result<Scheduler> Scheduler::open(SchedulerOptions options) {
  const std::string stream = options.stream;
  const Span every = options.reload_every;
  auto config = embed::ConfigSource::open(embed::origin_of(options), {});
  if (!config) return embed::outward(config.error());
  const config::ConfigPtr first = (*config)->get();
  if (embed::booking_of(*first, stream) == nullptr)
    return Error{ErrorCode::not_found, false, "stream '" + stream + "' is not in the config"};
  auto host = embed::host_for(options.store, *first);
  if (!host) return embed::outward(host.error());
  if (const auto opened = (*host)->open_bookings(); !opened) return embed::outward(opened.error());
  std::unique_ptr<Impl> impl(
      new Impl{.host = std::move(*host), .config = std::move(*config), .post = std::move(options.post)});
  impl->host->run([&] {
    impl->bookings = std::make_shared<embed::Bookings>(
        impl->host->bookings(), stream,
        [config = impl->config, stream] { return embed::booking_of(*config->get(), stream); });
  });
  impl->config->watch(*impl->host, every);
  return Scheduler(std::move(impl));
}

Scheduler::Scheduler(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Scheduler::~Scheduler() = default;
Scheduler::Scheduler(Scheduler&&) noexcept = default;
Scheduler& Scheduler::operator=(Scheduler&&) noexcept = default;

Result<Reservation> Scheduler::reserve(const ReserveRequest& request) {
  return embed::wait_for<Reservation>(*impl_->host, impl_->reserve(request));
}
void Scheduler::reserve(const ReserveRequest& request, Callback<Reservation> done) {
  embed::ask<Reservation>(*impl_->host, std::move(done), impl_->post, impl_->reserve(request));
}

Result<Firing> Scheduler::gate(const Ticket& ticket) {
  return embed::wait_for<Firing>(*impl_->host, impl_->gate(ticket));
}
void Scheduler::gate(Ticket ticket, Callback<Firing> done) {
  embed::ask<Firing>(*impl_->host, std::move(done), impl_->post, impl_->gate(std::move(ticket)));
}

Result<Done> Scheduler::done(const Ticket& ticket) {
  return settle({ticket});
}
void Scheduler::done(Ticket ticket, Callback<Done> done) {
  settle({std::move(ticket)}, std::move(done));
}

Result<Done> Scheduler::settle(const std::vector<Ticket>& tickets) {
  return embed::wait_for<Done>(*impl_->host, impl_->settle(tickets));
}
void Scheduler::settle(std::vector<Ticket> tickets, Callback<Done> done) {
  embed::ask<Done>(*impl_->host, std::move(done), impl_->post, impl_->settle(std::move(tickets)));
}

Result<Done> Scheduler::release(const Ticket& ticket) {
  return embed::wait_for<Done>(*impl_->host, impl_->release(ticket));
}
void Scheduler::release(Ticket ticket, Callback<Done> done) {
  embed::ask<Done>(*impl_->host, std::move(done), impl_->post, impl_->release(std::move(ticket)));
}

Result<Done> Scheduler::freeze(const std::string& key, TimePoint until) {
  return embed::wait_for<Done>(*impl_->host, impl_->freeze(key, until));
}
void Scheduler::freeze(std::string key, TimePoint until, Callback<Done> done) {
  embed::ask<Done>(*impl_->host, std::move(done), impl_->post, impl_->freeze(std::move(key), until));
}

Result<Done> Scheduler::thaw(const std::string& key) {
  return embed::wait_for<Done>(*impl_->host, impl_->thaw(key));
}
void Scheduler::thaw(std::string key, Callback<Done> done) {
  embed::ask<Done>(*impl_->host, std::move(done), impl_->post, impl_->thaw(std::move(key)));
}

Result<KeyState> Scheduler::inspect(const std::string& key) {
  return embed::wait_for<KeyState>(*impl_->host, impl_->inspect(key));
}
void Scheduler::inspect(std::string key, Callback<KeyState> done) {
  embed::ask<KeyState>(*impl_->host, std::move(done), impl_->post, impl_->inspect(std::move(key)));
}

Store Scheduler::store() const {
  return Store(impl_->host);
}

}  // namespace dripgate::v1
