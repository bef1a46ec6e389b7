// v1::Limiter: a Checker with its failure modes on a host.
#include "dripgate/limiter.h"

#include <utility>

#include "check/check.h"
#include "check/client_address.h"
#include "embed/answer.h"
#include "embed/code_config.h"
#include "embed/config_source.h"
#include "embed/host.h"
#include "embed/outward.h"
#include "store/failover/failover_store.h"

namespace dripgate::embed {
namespace {

/// What lives with the stores: made and ended inside Host::run, asked inside Host::enter.
class Checks : private check::Observer {
 public:
  Checks(Host& host, std::shared_ptr<ConfigSource> config)
      : config_(std::move(config)),
        store_(
            host.counters(), [&host](std::string_view key) { return host.shard(key); }, host.local(),
            host.executor(), host.steady()),
        checker_({.config = [this] { return config_->get(); },
                  .store = store_,
                  .clock = host.steady(),
                  .observer = *this,
                  .refund_key = random_hash_key()}) {}

  void check(check::Request request, Owed<v1::Decision> owed) {
    checker_.check(std::move(request), [owed = std::move(owed)](Result<check::Answer> answer) mutable {
      if (!answer) return owed.give(outward(answer.error()));
      owed.give(outward(*answer, answer->config->server.legacy_headers));
    });
  }
  void refund(const std::string& id, Owed<bool> owed) {
    checker_.refund(id, [owed = std::move(owed)](Result<bool> given) mutable {
      given ? owed.give(*given) : owed.give(outward(given.error()));
    });
  }
  void explain(check::Request request, Owed<v1::Explanation> owed) {
    checker_.explain(std::move(request),
                     [owed = std::move(owed)](Result<check::Explanation> explanation) mutable {
                       if (!explanation) return owed.give(outward(explanation.error()));
                       const config::ConfigPtr& config = explanation->answer.config;
                       owed.give(outward(*explanation, config && config->server.legacy_headers));
                     });
  }

 private:
  void on_decision(const check::Answer&, Duration) override {}

  std::shared_ptr<ConfigSource> config_;
  store::FailoverStore store_;
  check::Checker checker_;
};

check::Request inward(v1::Request request, bool peek) {
  return {.descriptor = std::move(request.facts),
          .cost = request.cost,
          .peek = peek,
          .idempotency_key = std::move(request.idempotency_key)};
}

Origin origin_of(v1::LimiterOptions& options) {
  return {.file = std::move(options.config_file),
          .text = std::move(options.config_text),
          .code = options.policies.empty() ? std::string() : code_policies(options.policies),
          .code_name = "policies in code",
          .environment = std::move(options.environment)};
}

}  // namespace
}  // namespace dripgate::embed

namespace dripgate::v1 {

struct Limiter::Impl {
  embed::HostPtr host;
  std::shared_ptr<embed::ConfigSource> config;
  Post post;
  std::shared_ptr<embed::Checks> checks{};

  ~Impl() {
    // Calls under way hear `cancelled` as what they wait for goes.
    host->run([&] { checks.reset(); });
  }

  /// What one call asks, for ask() and wait_for(): nothing once the Limiter has ended.
  template <class T, class Call>
  auto begin(Call call) {
    return [weak = std::weak_ptr(checks), call = std::move(call)](embed::Owed<T> owed) mutable {
      if (const auto alive = weak.lock()) call(*alive, std::move(owed));
    };
  }
  auto check(Request request, bool peek) {
    return begin<Decision>(
        [asked = embed::inward(std::move(request), peek)](auto& checks, auto owed) mutable {
          checks.check(std::move(asked), std::move(owed));
        });
  }
  auto refund(std::string id) {
    return begin<bool>([id = std::move(id)](auto& checks, auto owed) { checks.refund(id, std::move(owed)); });
  }
  auto explain(Request request) {
    return begin<Explanation>(
        [asked = embed::inward(std::move(request), true)](auto& checks, auto owed) mutable {
          checks.explain(std::move(asked), std::move(owed));
        });
  }
};

Result<Limiter> Limiter::open(LimiterOptions options) {
  auto config = embed::ConfigSource::open(embed::origin_of(options), std::move(options.on_reload));
  if (!config) return embed::outward(config.error());
  auto host = embed::host_for(options.store, *(*config)->get());
  if (!host) return embed::outward(host.error());
  std::unique_ptr<Impl> impl(
      new Impl{.host = std::move(*host), .config = std::move(*config), .post = std::move(options.post)});
  impl->host->run([&] { impl->checks = std::make_shared<embed::Checks>(*impl->host, impl->config); });
  impl->config->watch(*impl->host, options.reload_every);
  return Limiter(std::move(impl));
}

Limiter::Limiter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Limiter::~Limiter() = default;
Limiter::Limiter(Limiter&&) noexcept = default;
Limiter& Limiter::operator=(Limiter&&) noexcept = default;

Result<Decision> Limiter::check(const Request& request) {
  return embed::wait_for<Decision>(*impl_->host, impl_->check(request, false));
}
void Limiter::check(Request request, Callback<Decision> done) {
  embed::ask<Decision>(*impl_->host, std::move(done), impl_->post, impl_->check(std::move(request), false));
}

Result<Decision> Limiter::peek(const Request& request) {
  return embed::wait_for<Decision>(*impl_->host, impl_->check(request, true));
}
void Limiter::peek(Request request, Callback<Decision> done) {
  embed::ask<Decision>(*impl_->host, std::move(done), impl_->post, impl_->check(std::move(request), true));
}

Result<bool> Limiter::refund(const std::string& refund_id) {
  return embed::wait_for<bool>(*impl_->host, impl_->refund(refund_id));
}
void Limiter::refund(std::string refund_id, Callback<bool> done) {
  embed::ask<bool>(*impl_->host, std::move(done), impl_->post, impl_->refund(std::move(refund_id)));
}

Result<Explanation> Limiter::explain(const Request& request) {
  return embed::wait_for<Explanation>(*impl_->host, impl_->explain(request));
}
void Limiter::explain(Request request, Callback<Explanation> done) {
  embed::ask<Explanation>(*impl_->host, std::move(done), impl_->post, impl_->explain(std::move(request)));
}

std::string Limiter::client_address(std::string_view peer,
                                    const std::vector<std::string_view>& forwarded_for) const {
  return check::client_address(peer, forwarded_for, impl_->config->get()->server.trusted_proxies);
}

Result<bool> Limiter::reload() {
  const auto changed = impl_->config->reload();
  if (!changed) return embed::outward(changed.error());
  return *changed;
}

std::string Limiter::version() const {
  return impl_->config->get()->version;
}

Store Limiter::store() const {
  return Store(impl_->host);
}

}  // namespace dripgate::v1
