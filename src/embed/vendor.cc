// v1::Vendor: one vendor of vendor::Vendors, with its failure modes, on a host.
#include "dripgate/vendor.h"

#include <algorithm>
#include <utility>

#include "embed/answer.h"
#include "embed/code_config.h"
#include "embed/config_source.h"
#include "embed/host.h"
#include "embed/outward.h"
#include "vendor/vendors.h"

namespace dripgate::embed {
namespace {

using embed::outward;

v1::Acquired outward(const vendor::Acquired& acquired) {
  v1::Acquired out{.allowed = acquired.allowed,
                   .impossible = acquired.impossible,
                   .id = acquired.id,
                   .remaining = acquired.remaining,
                   .retry_after = acquired.retry_after,
                   .frozen_until = acquired.frozen_until};
  if (acquired.degraded) out.degraded = outward(*acquired.degraded);
  return out;
}

v1::Observed outward(const vendor::Observed& observed) {
  v1::Observed out{.refused = observed.refused,
                   .retry_after = observed.retry_after,
                   .frozen_until = observed.frozen_until,
                   .remaining = observed.remaining,
                   .applied = observed.applied,
                   .unreadable = observed.rubbish};
  if (observed.degraded) out.degraded = outward(*observed.degraded);
  return out;
}

v1::VendorState outward(const vendor::VendorStatus& status) {
  v1::VendorState out{.key = status.key,
                      .frozen_until = status.view.frozen_until,
                      .refusals_in_a_row = status.view.strikes,
                      .in_flight = status.view.in_flight};
  for (std::size_t i = 0; i < status.view.remaining.size(); ++i) {
    out.limits.push_back({.limit = outward(status.vendor->policy->limits[i]),
                          .dimension = status.vendor->dimensions[i],
                          .remaining = status.view.remaining[i],
                          .waits_until = status.view.hold[i]});
  }
  return out;
}

/// What lives with the stores: made and ended inside Host::run, asked inside Host::enter.
class VendorCalls : private vendor::Observer {
 public:
  VendorCalls(Host& host, std::shared_ptr<ConfigSource> config, std::string id)
      : config_(std::move(config)),
        id_(std::move(id)),
        vendors_({.vendors = [this] { return config_->get()->vendors; },
                  .store = host.vendors(),
                  .local = host.local_vendors(),
                  .instances = [&host] { return host.local().instances(); },
                  .clock = host.steady(),
                  .observer = *this}) {}

  void acquire(v1::VendorKey key, v1::VendorCosts cost, Owed<v1::Acquired> owed) {
    vendors_.acquire({.vendor = id_, .attributes = std::move(key), .costs = std::move(cost)},
                     told<vendor::Acquired>(std::move(owed)));
  }
  void observe(v1::VendorKey key, v1::ObserveRequest request, Owed<v1::Observed> owed) {
    vendors_.observe({.vendor = id_,
                      .attributes = std::move(key),
                      .id = std::move(request.id),
                      .answer = {.status = request.answer.status,
                                 .headers = std::move(request.answer.headers),
                                 .reason = std::move(request.answer.reason)},
                      .sent = request.sent,
                      .actual = std::move(request.actual)},
                     told<vendor::Observed>(std::move(owed)));
  }
  void freeze(const v1::VendorKey& key, v1::Span span, Owed<v1::VendorState> owed) {
    vendors_.freeze(id_, key, span, then_inspect(key, std::move(owed)));
  }
  void thaw(const v1::VendorKey& key, Owed<v1::VendorState> owed) {
    vendors_.thaw(id_, key, then_inspect(key, std::move(owed)));
  }
  void inspect(const v1::VendorKey& key, Owed<v1::VendorState> owed) {
    vendors_.inspect(id_, key, told<vendor::VendorStatus>(std::move(owed)));
  }

 private:
  template <class From, class To>
  static dripgate::Done<From> told(Owed<To> owed) {
    return [owed = std::move(owed)](Result<From> answer) mutable {
      answer ? owed.give(outward(*answer)) : owed.give(outward(answer.error()));
    };
  }
  dripgate::Done<vendor::Operated> then_inspect(const v1::VendorKey& key, Owed<v1::VendorState> owed) {
    return guard_.wrap([this, key, owed = std::move(owed)](const Result<vendor::Operated>& done) mutable {
      done ? inspect(key, std::move(owed)) : owed.give(outward(done.error()));
    });
  }
  void on_acquire(const std::string&, std::string_view) override {}
  void on_observe(const std::string&, const vendor::Observed&) override {}

  std::shared_ptr<ConfigSource> config_;
  const std::string id_;
  vendor::Vendors vendors_;
  Guard guard_;  // last
};

Origin origin_of(v1::VendorOptions& options) {
  const bool in_code = !options.limits.empty() || options.concurrent != 0;
  return {.file = std::move(options.config_file),
          .text = std::move(options.config_text),
          .code = in_code ? code_vendor(options) : std::string(),
          .code_name = "vendor in code",
          .environment = std::move(options.environment)};
}

}  // namespace
}  // namespace dripgate::embed

namespace dripgate::v1 {

struct Vendor::Impl {
  embed::HostPtr host;
  std::shared_ptr<embed::ConfigSource> config;
  Post post;
  std::shared_ptr<embed::VendorCalls> calls{};

  ~Impl() {
    host->run([&] { calls.reset(); });
  }

  template <class T, class Call>
  auto begin(Call call) {
    return [weak = std::weak_ptr(calls), call = std::move(call)](embed::Owed<T> owed) mutable {
      if (const auto alive = weak.lock()) call(*alive, std::move(owed));
    };
  }
  auto acquire(VendorKey key, VendorCosts cost) {
    return begin<Acquired>([key = std::move(key), cost = std::move(cost)](auto& calls, auto owed) mutable {
      calls.acquire(std::move(key), std::move(cost), std::move(owed));
    });
  }
  auto observe(VendorKey key, ObserveRequest request) {
    return begin<Observed>(
        [key = std::move(key), request = std::move(request)](auto& calls, auto owed) mutable {
          calls.observe(std::move(key), std::move(request), std::move(owed));
        });
  }
};

Result<Vendor> Vendor::open(VendorOptions options) {
  const std::string id = options.vendor;
  const Span every = options.reload_every;
  auto config = embed::ConfigSource::open(embed::origin_of(options), {});
  if (!config) return embed::outward(config.error());
  const config::ConfigPtr first = (*config)->get();
  if (std::ranges::find(first->vendors, id, [](const auto& vendor) -> const auto& { return vendor->id; }) ==
      first->vendors.end())
    return Error{ErrorCode::not_found, false, "vendor '" + id + "' is not in the config"};
  auto host = embed::host_for(options.store, *first);
  if (!host) return embed::outward(host.error());
  std::shared_ptr<Impl> impl(
      new Impl{.host = std::move(*host), .config = std::move(*config), .post = std::move(options.post)});
  impl->host->run([&] { impl->calls = std::make_shared<embed::VendorCalls>(*impl->host, impl->config, id); });
  impl->config->watch(*impl->host, every);
  return Vendor(std::move(impl));
}

Vendor::Vendor(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Vendor::~Vendor() = default;
Vendor::Vendor(const Vendor&) = default;
Vendor::Vendor(Vendor&&) noexcept = default;
Vendor& Vendor::operator=(const Vendor&) = default;
Vendor& Vendor::operator=(Vendor&&) noexcept = default;

Result<Acquired> Vendor::acquire(const VendorKey& key, const VendorCosts& cost) {
  return embed::wait_for<Acquired>(*impl_->host, impl_->acquire(key, cost));
}
void Vendor::acquire(VendorKey key, VendorCosts cost, Callback<Acquired> done) {
  embed::ask<Acquired>(*impl_->host, std::move(done), impl_->post,
                       impl_->acquire(std::move(key), std::move(cost)));
}

Result<Observed> Vendor::observe(const VendorKey& key, const ObserveRequest& request) {
  return embed::wait_for<Observed>(*impl_->host, impl_->observe(key, request));
}
void Vendor::observe(VendorKey key, ObserveRequest request, Callback<Observed> done) {
  embed::ask<Observed>(*impl_->host, std::move(done), impl_->post,
                       impl_->observe(std::move(key), std::move(request)));
}

Result<Observed> Vendor::settle(const VendorKey& key, const std::string& id, const VendorCosts& actual) {
  return observe(key, {.id = id, .actual = actual});
}
void Vendor::settle(VendorKey key, std::string id, VendorCosts actual, Callback<Observed> done) {
  observe(std::move(key), {.id = std::move(id), .actual = std::move(actual)}, std::move(done));
}

Result<VendorState> Vendor::freeze(const VendorKey& key, Span span) {
  return embed::wait_for<VendorState>(
      *impl_->host, impl_->begin<VendorState>(
                        [key, span](auto& calls, auto owed) { calls.freeze(key, span, std::move(owed)); }));
}

Result<VendorState> Vendor::thaw(const VendorKey& key) {
  return embed::wait_for<VendorState>(*impl_->host, impl_->begin<VendorState>([key](auto& calls, auto owed) {
    calls.thaw(key, std::move(owed));
  }));
}

Result<VendorState> Vendor::inspect(const VendorKey& key) {
  return embed::wait_for<VendorState>(*impl_->host, impl_->begin<VendorState>([key](auto& calls, auto owed) {
    calls.inspect(key, std::move(owed));
  }));
}

Store Vendor::store() const {
  return Store(impl_->host);
}

std::optional<RateLimitExceeded> refusal_of(const VendorAnswer& answer, const Result<Observed>& observed) {
  if (observed) {
    if (!observed->refused) return std::nullopt;
    return RateLimitExceeded{
        .retry_after = observed->retry_after, .frozen_until = observed->frozen_until, .by_vendor = true};
  }
  if (answer.status != 429) return std::nullopt;
  return RateLimitExceeded{.retry_after = vendor::kRefusedWait, .frozen_until = {}, .by_vendor = true};
}

std::optional<Result<RateLimitExceeded>> denial_of(const Acquired& acquired) {
  if (acquired.allowed) return std::nullopt;
  if (acquired.impossible)
    return Error{ErrorCode::invalid_argument, false, "cost: above what a limit of this vendor can ever hold"};
  return RateLimitExceeded{.retry_after = acquired.retry_after, .frozen_until = acquired.frozen_until};
}

}  // namespace dripgate::v1
