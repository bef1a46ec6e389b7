#include "app/file_vendors.h"

#include <memory>
#include <utility>

#include "app/file_counters.h"
#include "app/one_answer.h"

namespace dripgate::app {

template <class T>
void FileVendors::ask(Done<T> done, std::move_only_function<void(store::VendorStore&, Done<T>)> question) {
  auto answer = std::make_shared<OneAnswer<T>>(std::move(done));
  home_.post_after(kFileAnswerMax, [answer] {
    answer->give(fail(ErrorCode::timed_out, "the database did not commit in time", true));
  });
  Done<T> back = [&home = home_, answer](Result<T> result) {
    home.post([answer, result = std::move(result)]() mutable { answer->give(std::move(result)); });
  };
  loop_.post([this, back = std::move(back), question = std::move(question)]() mutable {
    store::VendorStore* vendors = engine_.vendors();
    if (vendors == nullptr) return back(fail(ErrorCode::unavailable, "the database does not work", true));
    question(*vendors, durable(engine_, std::move(back)));
  });
}

void FileVendors::acquire(store::VendorAcquire call, Done<core::VendorGrant> done) {
  ask<core::VendorGrant>(std::move(done), [call = std::move(call)](auto& vendors, auto back) mutable {
    vendors.acquire(std::move(call), std::move(back));
  });
}

void FileVendors::observe(store::VendorObserve call, Done<core::VendorEffect> done) {
  ask<core::VendorEffect>(std::move(done), [call = std::move(call)](auto& vendors, auto back) mutable {
    vendors.observe(std::move(call), std::move(back));
  });
}

void FileVendors::inspect(std::string key, core::VendorPolicyPtr policy, Done<core::VendorView> done) {
  ask<core::VendorView>(std::move(done),
                        [key = std::move(key), policy = std::move(policy)](auto& vendors, auto back) mutable {
                          vendors.inspect(std::move(key), std::move(policy), std::move(back));
                        });
}

void FileVendors::reset(std::string key, Done<void> done) {
  ask<void>(std::move(done), [key = std::move(key)](auto& vendors, auto back) mutable {
    vendors.reset(std::move(key), std::move(back));
  });
}

}  // namespace dripgate::app
