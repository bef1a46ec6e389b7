// The memory CounterStore against a bare absl::flat_hash_map find on the same 10^6 keys in the same random
// order: table level (hashed key and time given), one hot key, and through the port (key text, a system clock
// read, a Decision). The control's finds do not depend on each other, so the processor overlaps their cache
// misses; the table's counterpart is the batch call (consume_each). Asked one by one each decision waits for
// its own miss: reported, not judged.
#include <array>
#include <charconv>
#include <random>

#include <absl/container/flat_hash_map.h>

#include "compare.h"
#include "store/memory/counter_table.h"
#include "store/memory/stores.h"

namespace dripgate::bench {
namespace {

constexpr std::size_t kKeys = 1'000'000;
constexpr std::size_t kLooks = 1'000'000;
constexpr std::size_t kBatch = 64;
constexpr WallTime kStart{std::chrono::seconds{1'800'000'000}};

/// What a table of one's own would keep per key.
struct Control {
  std::int64_t time = 0;
  std::int64_t value = 0;
};

class SystemClock : public Clock {
 public:
  [[nodiscard]] WallTime now() const override {
    return std::chrono::floor<Duration>(std::chrono::system_clock::now());
  }
};

core::Limit limit_of(core::Algorithm algorithm) {
  return {.algorithm = algorithm,
          .limit = 1'000'000'000,
          .window = std::chrono::seconds{1'000},
          .capacity = 1'000'000'000,
          .zone = nullptr};
}

/// The text of a key, as its caller has just rendered it.
std::string text_of(std::uint32_t key) {
  char digits[16];
  const auto end =
      std::to_chars(digits, digits + sizeof(digits), key * 2654435761u).ptr;  // spread over the digits
  constexpr std::string_view kPrefix = "rl:{t:acme}:api-free:k:";
  std::string text;
  text.reserve(kPrefix.size() + sizeof(digits));
  return text.append(kPrefix).append(digits, end);
}

struct Keys {
  std::vector<std::uint32_t> order;  // random, with repeats: what a table's user sees

  Keys() {
    std::mt19937_64 random(42);
    for (std::size_t i = 0; i < kLooks; ++i) order.push_back(static_cast<std::uint32_t>(random() % kKeys));
  }
};

class Subjects {
 public:
  explicit Subjects(const Keys& keys)
      : keys_(keys),
        port_(store::make_memory_counter_store(clock_)),
        limits_{limit_of(core::Algorithm::token_bucket), limit_of(core::Algorithm::fixed_window)} {
    for (std::uint32_t i = 0; i < kKeys; ++i) prints_.push_back(table_[0].fingerprint(text_of(i)));
    for (const std::uint64_t print : prints_) {
      control_.emplace(print, Control{1, 1});
      for (std::size_t i = 0; i < 2; ++i)
        keep(table_[i].consume_one({print, &limits_[i], 1}, now_)->remaining);
    }
    for (const std::uint32_t i : keys_.order) looks_.push_back(prints_[i]);
    for (std::uint32_t i = 0; i < kKeys; ++i) through_port(i);
  }

  std::uint64_t find_control() {
    std::int64_t sum = 0;
    for (const std::uint64_t print : looks_) sum += control_.find(print)->second.time;
    keep(sum);
    return keys_.order.size();
  }
  std::uint64_t consume_batches(std::size_t table) {
    std::array<core::LimitOutcome, kBatch> outcomes;
    std::array<store::TableCharge, kBatch> charges;
    std::int64_t sum = 0;
    for (std::size_t start = 0; start + kBatch <= looks_.size(); start += kBatch) {
      for (std::size_t i = 0; i < kBatch; ++i) charges[i] = {looks_[start + i], &limits_[table], 1};
      now_ += Duration{kBatch};
      table_[table].consume_each(charges, now_, outcomes);
      for (const core::LimitOutcome& outcome : outcomes) sum += outcome.remaining;
    }
    keep(sum);
    return looks_.size() / kBatch * kBatch;
  }
  std::uint64_t consume(std::size_t table) {
    std::int64_t sum = 0;
    for (const std::uint64_t print : looks_) {
      now_ += Duration{1};
      sum += table_[table].consume_one({print, &limits_[table], 1}, now_)->remaining;
    }
    keep(sum);
    return keys_.order.size();
  }
  std::uint64_t consume_hot() {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < kLooks; ++i) {
      now_ += Duration{1};
      sum += table_[0].consume_one({prints_[0], &limits_[0], 1}, now_)->remaining;
    }
    keep(sum);
    return kLooks;
  }
  std::uint64_t consume_port() {
    for (const std::uint32_t i : keys_.order) through_port(i);
    return keys_.order.size();
  }
  std::uint64_t consume_port_hot() {
    for (std::size_t i = 0; i < kLooks; ++i) through_port(0);
    return kLooks;
  }
  [[nodiscard]] double bytes_per_key() {
    return static_cast<double>(table_[0].bytes()) / static_cast<double>(table_[0].keys());
  }

 private:
  void through_port(std::uint32_t key) {
    store::Charges charges;
    charges.push_back({text_of(key), limits_[0], 1});
    port_->consume(std::move(charges),
                   [](const Result<core::Decision>& decision) { keep(decision->verdict); });
  }

  const Keys& keys_;
  SystemClock clock_;
  WallTime now_ = kStart;
  store::CounterTable table_[2]{store::CounterTable{store::kMemoryKeysMax},
                                store::CounterTable{store::kMemoryKeysMax}};
  std::unique_ptr<store::CounterStore> port_;
  core::Limit limits_[2];
  std::vector<std::uint64_t> prints_;
  std::vector<std::uint64_t> looks_;  // prints_ in the order of the looks
  absl::flat_hash_map<std::uint64_t, Control> control_;
};

int run(int argc, char** argv) {
  Comparison table("memory_store", argc, argv, Timer::thread_cpu);
  const Keys keys;
  Subjects subjects(keys);
  table.add("absl find", [&] { return subjects.find_control(); });
  table.add("token bucket", [&] { return subjects.consume_batches(0); });
  table.add("fixed window", [&] { return subjects.consume_batches(1); });
  table.add("token bucket, one by one", [&] { return subjects.consume(0); });
  table.add("fixed window, one by one", [&] { return subjects.consume(1); });
  table.add("hot key", [&] { return subjects.consume_hot(); });
  table.add("port", [&] { return subjects.consume_port(); });
  table.add("port, hot key", [&] { return subjects.consume_port_hot(); });
  table.run();
  table.expect_ratio("token bucket", "absl find", 1.5);
  table.expect_ratio("fixed window", "absl find", 1.5);
  table.expect_at_most("hot key", 60);
  table.expect_at_most("port", 250);
  table.judge("state per key, all in", subjects.bytes_per_key(), 40, "B");
  return table.verdict();
}

}  // namespace
}  // namespace dripgate::bench

int main(int argc, char** argv) {
  return dripgate::bench::run(argc, argv);
}
