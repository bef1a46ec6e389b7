#include "app/file_counters.h"

#include <memory>
#include <utility>

#include "app/one_answer.h"

namespace dripgate::app {
template <class T>
void FileCounters::ask(Done<T> done, std::move_only_function<void(store::CounterStore&, Done<T>)> question) {
  auto answer = std::make_shared<OneAnswer<T>>(std::move(done));
  gate_.post_after(kFileAnswerMax, [answer] {
    answer->give(fail(ErrorCode::timed_out, "the database did not commit in time", true));
  });
  Done<T> back = [&gate = gate_, answer](Result<T> result) {
    gate.post([answer, result = std::move(result)]() mutable { answer->give(std::move(result)); });
  };
  loop_.post([this, back = std::move(back), question = std::move(question)]() mutable {
    store::CounterStore* counters = engine_.counters();
    if (counters == nullptr) return back(fail(ErrorCode::unavailable, "the database does not work", true));
    question(*counters, durable(engine_, std::move(back)));
  });
}

void FileCounters::consume(store::Charges charges, Done<core::Decision> done) {
  ask<core::Decision>(std::move(done), [charges = std::move(charges)](auto& counters, auto call) mutable {
    counters.consume(std::move(charges), std::move(call));
  });
}

void FileCounters::peek(store::Charges charges, Done<core::Decision> done) {
  ask<core::Decision>(std::move(done), [charges = std::move(charges)](auto& counters, auto call) mutable {
    counters.peek(std::move(charges), std::move(call));
  });
}

void FileCounters::refund(store::Refund refund, Done<bool> done) {
  ask<bool>(std::move(done), [refund = std::move(refund)](auto& counters, auto call) mutable {
    counters.refund(std::move(refund), std::move(call));
  });
}

void FileCounters::reset(std::string key, Done<void> done) {
  ask<void>(std::move(done), [key = std::move(key)](auto& counters, auto call) mutable {
    counters.reset(std::move(key), std::move(call));
  });
}

void FileCounters::inspect(store::Charge charge, Done<store::CounterView> done) {
  ask<store::CounterView>(std::move(done), [charge = std::move(charge)](auto& counters, auto call) mutable {
    counters.inspect(std::move(charge), std::move(call));
  });
}

}  // namespace dripgate::app
