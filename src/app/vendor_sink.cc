#include "app/vendor_sink.h"

#include <utility>

#include "broker/attribute_names.h"
#include "drip/event_facts.h"

namespace dripgate::app {
namespace {

broker::SinkAnswer not_yet(Duration wait, std::string why) {
  return {.verdict = broker::SinkVerdict::not_yet, .retry_after = wait, .detail = std::move(why)};
}

/// Asks `question(done)` on the executor `there` and brings the answer back to `home`.
template <class T, class Question>
void ask_there(Executor& there, Executor& home, Question question, Done<T> back) {
  there.post([&home, question = std::move(question), back = std::move(back)]() mutable {
    question([&home, back = std::move(back)](Result<T> answer) mutable {
      home.post([back = std::move(back), answer = std::move(answer)]() mutable { back(std::move(answer)); });
    });
  });
}

}  // namespace

/// What the vendor's key may name: the event's attributes, its stream and its key, members of its payload.
core::Descriptor VendorSink::attributes_of(const broker::Message& message) {
  core::Descriptor facts;
  for (const auto& [name, value] : message.attributes) facts.insert_or_assign(name, value);
  if (const std::string* stream = broker::find(message.attributes, broker::kStreamAttribute))
    facts["stream"] = *stream;
  if (const std::string* key = broker::find(message.attributes, broker::kKeyAttribute)) facts["key"] = *key;
  drip::EventFacts event(message, json_);
  for (const std::string& name : context_.key_names()) {
    if (facts.contains(name)) continue;
    if (auto value = event.find(name)) facts.emplace(name, *std::move(value));
  }
  return facts;
}

void VendorSink::deliver(broker::Outgoing outgoing, Finished done) {
  core::Descriptor attributes = attributes_of(outgoing.message);
  Done<vendor::Acquired> back =
      guard_.wrap([this, outgoing = std::move(outgoing), attributes,
                   done = std::move(done)](const Result<vendor::Acquired>& acquired) mutable {
        granted(std::move(outgoing), std::move(attributes), acquired, std::move(done));
      });
  vendor::AcquireCall call{.vendor = context_.vendor, .attributes = std::move(attributes)};
  ask_there<vendor::Acquired>(
      context_.there, context_.home,
      [&vendors = context_.vendors, call = std::move(call)](Done<vendor::Acquired> answer) mutable {
        vendors.acquire(std::move(call), std::move(answer));
      },
      std::move(back));
}

void VendorSink::granted(broker::Outgoing outgoing, core::Descriptor attributes,
                         const Result<vendor::Acquired>& acquired, Finished done) {
  if (!acquired && acquired.error().code == ErrorCode::invalid_argument) {
    return done(
        {.verdict = broker::SinkVerdict::refused, .retry_after = {}, .detail = acquired.error().detail});
  }
  if (!acquired) return done(not_yet(kVendorStoreWait, acquired.error().detail));
  if (!acquired->allowed) {
    return done(not_yet(acquired->retry_after, "vendor " + context_.vendor +
                                                   (acquired->frozen_until ? " is frozen" : " has no room")));
  }
  context_.inner.deliver(std::move(outgoing),
                         guard_.wrap([this, attributes = std::move(attributes), id = acquired->id,
                                      done = std::move(done)](broker::SinkAnswer answer) mutable {
                           answered(std::move(attributes), std::move(id), std::move(answer), std::move(done));
                         }));
}

void VendorSink::answered(core::Descriptor attributes, std::string id, broker::SinkAnswer answer,
                          Finished done) {
  vendor::ObserveCall call{
      .vendor = context_.vendor, .attributes = std::move(attributes), .id = std::move(id)};
  call.answer = {.status = answer.status, .headers = answer.headers, .reason = {}};
  Done<vendor::Observed> back = guard_.wrap(
      [answer = std::move(answer), done = std::move(done)](const Result<vendor::Observed>& seen) mutable {
        // A refusal in the vendor's own form is one; the freeze that all share is what the event waits for.
        if (seen && seen->refused) {
          answer.verdict = broker::SinkVerdict::rate_limited;
          answer.retry_after = seen->retry_after;
        }
        done(std::move(answer));
      });
  ask_there<vendor::Observed>(
      context_.there, context_.home,
      [&vendors = context_.vendors, call = std::move(call)](Done<vendor::Observed> told) mutable {
        vendors.observe(std::move(call), std::move(told));
      },
      std::move(back));
}

}  // namespace dripgate::app
