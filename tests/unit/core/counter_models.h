// Plain rational models of the three algorithms: a balance that grows, every admitted unit with its time,
// units per window. Nothing is packed, pruned or clever; counter_model_test.cc holds the real ones to their
// answers.
#pragma once

#include <deque>
#include <map>
#include <tuple>

#include "core/sliding_log.h"
#include "unit/core/counter_support.h"

namespace dripgate::core {

__extension__ using Int = __int128;

/// An exact number, always in lowest terms.
struct Rational {
  Int num = 0;
  Int den = 1;
  Rational(Int n, Int d = 1) : num(n), den(d) {
    Int a = n < 0 ? -n : n, b = d;
    while (b != 0) std::tie(a, b) = std::pair{b, a % b};
    num /= a, den /= a;
  }
  friend Rational operator+(Rational a, Rational b) { return {a.num * b.den + b.num * a.den, a.den * b.den}; }
  friend Rational operator-(Rational a, Rational b) { return a + Rational{-b.num, b.den}; }
  friend Rational operator*(Rational a, Rational b) { return {a.num * b.num, a.den * b.den}; }
  friend bool operator<(Rational a, Rational b) { return a.num * b.den < b.num * a.den; }
  [[nodiscard]] Int floor() const { return num / den - (num % den < 0); }
  [[nodiscard]] Int ceil() const { return num / den + (num % den > 0); }
};

struct Expected {
  Verdict verdict = Verdict::allow;
  Units remaining = 0;
  Duration reset_after{};
  std::optional<Duration> retry_after;
};

class Model {
 public:
  virtual ~Model() = default;
  virtual Expected call(const Limit& limit, Units cost, WallTime now, bool take) = 0;
  virtual bool refund(const Limit& limit, Units cost, WallTime consumed_at, WallTime now) = 0;
};

/// A balance in units that grows with time; nothing else.
class BucketModel : public Model {
 public:
  Expected call(const Limit& limit, Units cost, WallTime now, bool take) override {
    Rational balance = balance_at(limit, now);
    const Units asked = std::max<Units>(cost, 1);
    Expected e;
    if (limit.capacity > 0 && asked > limit.capacity) {
      e.verdict = Verdict::impossible;
    } else if (balance < Rational{asked}) {
      e.verdict = Verdict::deny;
      if (limit.limit > 0 && limit.capacity > 0)
        e.retry_after = whole_us((Rational{asked} - balance) * per_unit(limit));
    } else {
      balance = balance - Rational{cost};
    }
    e.remaining = static_cast<Units>(std::max<Int>(0, balance.floor()));
    const Rational missing = Rational{limit.capacity} - balance;
    if (Rational{0} < missing)
      e.reset_after = limit.limit == 0 ? kNeverResets : whole_us(missing * per_unit(limit));
    const bool takes = e.verdict == Verdict::allow && cost > 0;
    if (take && (takes || (known_ && changed(limit)))) {
      known_ = true;
      written_ = limit;
      balance_ = balance;
      at_ = now;
    }
    return e;
  }

  bool refund(const Limit& limit, Units cost, WallTime consumed_at, WallTime now) override {
    if (!known_) return false;
    const Rational since{std::max<std::int64_t>(0, (now - consumed_at).count())};
    const Rational old_rate{written_.limit, written_.window.count()};
    Rational refilled = since * old_rate;
    const Rational new_rate{limit.limit, limit.window.count()};
    if (old_rate < new_rate) {  // in the old numbers' steps, rounded against the client
      const Rational steps = since * new_rate * Rational{written_.window.count()};
      refilled = Rational{steps.ceil(), written_.window.count()};
    }
    const Rational owed = Rational{cost} - refilled;
    Rational balance = grown(now);
    const Rational capacity{written_.capacity};
    if (!(Rational{0} < owed) || !(balance < capacity)) return false;
    balance = balance + owed;
    if (capacity < balance) balance = capacity;
    if (written_.limit == 0) balance = Rational{balance.floor()};
    balance_ = balance;
    at_ = now;
    return true;
  }

 private:
  static Duration whole_us(Rational us) { return Duration{static_cast<std::int64_t>(us.ceil())}; }
  static Rational per_unit(const Limit& limit) { return {limit.window.count(), limit.limit}; }
  [[nodiscard]] bool changed(const Limit& limit) const {
    return !(written_under(limit) == written_under(written_));
  }

  [[nodiscard]] Rational grown(WallTime now) const {
    const Rational balance =
        balance_ + Rational{(now - at_).count()} * Rational{written_.limit, written_.window.count()};
    return Rational{written_.capacity} < balance ? Rational{written_.capacity} : balance;
  }

  [[nodiscard]] Rational balance_at(const Limit& limit, WallTime now) const {
    const Rational capacity{limit.capacity};
    if (!known_) return capacity;
    Rational balance = grown(now);
    if (!changed(limit)) return balance;
    if (!(balance < Rational{written_.capacity})) return capacity;  // full is as good as never used
    if (written_.window != limit.window)
      balance = Rational{(balance * Rational{limit.window.count()}).floor(), limit.window.count()};
    if (capacity < balance) balance = capacity;
    if (limit.limit == 0) balance = Rational{balance.floor()};
    return balance;
  }

  bool known_ = false;
  Limit written_;
  Rational balance_{0};
  WallTime at_;
};

/// Every admitted unit with its time, searched from end to end.
class LogModel : public Model {
 public:
  Expected call(const Limit& limit, Units cost, WallTime now, bool take) override {
    const bool known = known_ && newest_ + window_ > now;
    const WallTime t = known ? std::max(now, newest_) : now;
    const Units used = known ? units_after(t - limit.window) : 0;
    const Units asked = std::max<Units>(cost, 1);
    Expected e;
    e.remaining = std::max<Units>(0, limit.limit - used);
    if (used > 0) e.reset_after = last_counted_ + limit.window - now;
    if (limit.limit > 0 && asked > limit.limit) {
      e.verdict = Verdict::impossible;
    } else if (asked > e.remaining) {
      e.verdict = Verdict::deny;
      if (limit.limit > 0) e.retry_after = wait(limit, limit.limit - asked, t) - now;
    } else if (cost > 0) {
      e.remaining -= cost;
      e.reset_after = t + limit.window - now;
      if (take) {
        std::erase_if(admitted_, [&](const auto& a) { return !known || a.first <= t - limit.window; });
        admitted_.emplace_back(t, cost);
        known_ = true, newest_ = t, window_ = limit.window;
        return e;
      }
    }
    if (take && known) window_ = limit.window;
    return e;
  }
  bool refund(const Limit& limit, Units cost, WallTime consumed_at, WallTime now) override {
    if (!known_ || now >= consumed_at + limit.window || consumed_at <= std::max(now, newest_) - window_)
      return false;
    Units left = cost;
    for (auto& [time, units] : admitted_)
      if (time >= consumed_at && time <= consumed_at + sliding_log::kTakenLaterMax) {
        const Units taken = std::min(units, left);
        units -= taken, left -= taken;
      }
    return left < cost;
  }

 private:
  Units units_after(WallTime from) {
    Units sum = 0;
    for (const auto& [time, units] : admitted_)
      if (time > from && units > 0) sum += units, last_counted_ = time;
    return sum;
  }
  WallTime wait(const Limit& limit, Units allowed, WallTime t) {
    WallTime first = kNeverEnds;
    for (const auto& [time, units] : admitted_) {
      const WallTime leaves = time + limit.window;
      if (leaves > t && leaves < first && units_after(leaves - limit.window) <= allowed) first = leaves;
    }
    return first;
  }
  bool known_ = false;
  WallTime newest_, last_counted_;
  Duration window_{};
  std::deque<std::pair<WallTime, Units>> admitted_;
};

/// Units per window, all windows kept.
class WindowModel : public Model {
 public:
  Expected call(const Limit& limit, Units cost, WallTime now, bool take) override {
    const bool fresh = fresh_ || limit.window != window_;
    const WallTime t = fresh ? now : std::max(now, latest_);
    const WallTime start{t.time_since_epoch() / limit.window * limit.window};
    const auto found = used_.find(start);
    const Units used = fresh || found == used_.end() ? 0 : found->second;
    const Units asked = std::max<Units>(cost, 1);
    Expected e;
    e.remaining = std::max<Units>(0, limit.limit - used);
    e.reset_after = start + limit.window - now;
    if (limit.limit > 0 && asked > limit.limit) {
      e.verdict = Verdict::impossible;
    } else if (asked > e.remaining) {
      e.verdict = Verdict::deny;
      if (limit.limit > 0) e.retry_after = e.reset_after;
    } else if (cost > 0) {
      e.remaining -= cost;
      if (take && fresh) used_.clear();
      if (take) used_[start] += cost, latest_ = start, window_ = limit.window, fresh_ = false;
    }
    return e;
  }
  bool refund(const Limit& limit, Units cost, WallTime consumed_at, WallTime now) override {
    if (fresh_ || limit.window != window_) return false;
    const WallTime start{consumed_at.time_since_epoch() / window_ * window_};
    if (start != latest_ || now >= start + window_ || used_[start] == 0) return false;
    used_[start] = std::max<Units>(0, used_[start] - cost);
    return true;
  }

 private:
  bool fresh_ = true;
  WallTime latest_;
  Duration window_{};
  std::map<WallTime, Units> used_;
};

}  // namespace dripgate::core
