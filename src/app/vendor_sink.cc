#include "app/vendor_sink.h"

#include <algorithm>
#include <utility>

#include "broker/attribute_names.h"

namespace dripgate::app {
namespace {

/// What the vendor's key may name: the event's attributes, its stream and its key.
core::Descriptor attributes_of(const broker::Message& message) {
  core::Descriptor facts;
  for (const auto& [name, value] : message.attributes) facts.insert_or_assign(name, value);
  if (const std::string* stream = broker::find(message.attributes, broker::kStreamAttribute))
    facts["stream"] = *stream;
  if (const std::string* key = broker::find(message.attributes, broker::kKeyAttribute)) facts["key"] = *key;
  return facts;
}

broker::SinkAnswer not_yet(Duration wait, std::string why) {
  return {.verdict = broker::SinkVerdict::not_yet, .retry_after = wait, .detail = std::move(why)};
}

}  // namespace

void VendorSink::deliver(broker::Outgoing outgoing, Finished done) {
  core::Descriptor attributes = attributes_of(outgoing.message);
  auto back = guard_.wrap([this, outgoing = std::move(outgoing), attributes,
                           done = std::move(done)](Result<vendor::Acquired> acquired) mutable {
    granted(std::move(outgoing), std::move(attributes), acquired, std::move(done));
  });
  desk_.post([&desk = desk_, &home = home_, back = std::move(back),
              call = vendor::AcquireCall{.vendor = vendor_, .attributes = std::move(attributes)}]() mutable {
    desk.acquire(std::move(call), [&home, back = std::move(back)](Result<vendor::Acquired> acquired) mutable {
      home.post(
          [back = std::move(back), acquired = std::move(acquired)]() mutable { back(std::move(acquired)); });
    });
  });
}

void VendorSink::granted(broker::Outgoing outgoing, core::Descriptor attributes,
                         const Result<vendor::Acquired>& acquired, Finished done) {
  if (!acquired && acquired.error().code == ErrorCode::invalid_argument) {
    return done(
        {.verdict = broker::SinkVerdict::refused, .retry_after = {}, .detail = acquired.error().detail});
  }
  if (!acquired) return done(not_yet(kVendorStoreWait, acquired.error().detail));
  if (!acquired->allowed) {
    return done(not_yet(acquired->retry_after,
                        "vendor " + vendor_ + (acquired->frozen_until ? " is frozen" : " has no room")));
  }
  inner_.deliver(std::move(outgoing),
                 guard_.wrap([this, attributes = std::move(attributes), id = acquired->id,
                              done = std::move(done)](broker::SinkAnswer answer) mutable {
                   answered(std::move(attributes), std::move(id), std::move(answer), std::move(done));
                 }));
}

void VendorSink::answered(core::Descriptor attributes, std::string id, broker::SinkAnswer answer,
                          Finished done) {
  vendor::ObserveCall call{.vendor = vendor_, .attributes = std::move(attributes), .id = std::move(id)};
  call.answer = {.status = answer.status, .headers = answer.headers, .reason = {}};
  auto back = guard_.wrap([this, answer = std::move(answer),
                           done = std::move(done)](const Result<vendor::Observed>& seen) mutable {
    // A refusal in the vendor's own form is one; the freeze that all share is what the event waits for.
    if (seen && seen->refused) answer.verdict = broker::SinkVerdict::rate_limited;
    if (seen && seen->frozen_until && answer.verdict == broker::SinkVerdict::rate_limited)
      answer.retry_after = std::max<Duration>(*seen->frozen_until - clock_.now(), Duration{0});
    done(std::move(answer));
  });
  desk_.post([&desk = desk_, &home = home_, back = std::move(back), call = std::move(call)]() mutable {
    desk.observe(std::move(call), [&home, back = std::move(back)](Result<vendor::Observed> seen) mutable {
      home.post([back = std::move(back), seen = std::move(seen)]() mutable { back(std::move(seen)); });
    });
  });
}

}  // namespace dripgate::app
