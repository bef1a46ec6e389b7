#include "vendor/answer_reader.h"

#include <algorithm>
#include <map>
#include <ranges>

#include "base/small_letters.h"
#include "vendor/draft_fields.h"

namespace dripgate::vendor {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kValueBytesMax = 8192;  // of one name, all its lines
constexpr std::size_t kNamesMax = 256;

/// Values by lower-case name; repeated lines joined by ", ".
class Lines {
 public:
  explicit Lines(const AnswerHeaders& headers) {
    for (const auto& [name, value] : headers) {
      if (values_.size() == kNamesMax) break;
      std::string& all = values_[small_letters(name)];
      if (all.size() + value.size() > kValueBytesMax) continue;
      all.append(all.empty() ? "" : ", ").append(trimmed(value));
    }
  }
  /// Null: absent.
  [[nodiscard]] const std::string* find(std::string_view name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

class AnswerReader {
 public:
  AnswerReader(const Profile& profile, const VendorAnswer& answer, WallTime now)
      : profile_(profile), answer_(answer), lines_(answer.headers), at_{.now = now, .date = {}} {
    if (const std::string* date = lines_.find("date")) at_.date = read_http_date(*date);
  }

  Reading read() {
    if (const std::string* resource = lines_.find("x-ratelimit-resource")) reading_.resource = *resource;
    // A cache answers with what the vendor said some time ago.
    const std::string* age = lines_.find("age");
    const bool cached = age != nullptr && read_count(*age).value_or(0) > 0;
    if (!cached) {
      for (const Field& field : profile_.fields) read_field(field);
      read_draft();
    }
    const std::optional<Duration> hint = stated_wait();
    reading_.refusal = refusal(hint);
    if (reading_.refusal == Refusal::rate) reading_.retry_after = hint ? hint : wait_of_reports();
    reading_.answered = reading_.refusal == Refusal::none && answers(hint);
    return std::move(reading_);
  }

 private:
  Report& report(std::string_view dimension, std::optional<Duration> window) {
    for (Report& known : reading_.reports)
      if (known.dimension == dimension && known.window == window) return known;
    reading_.reports.push_back({.dimension = std::string(dimension), .window = window});
    return reading_.reports.back();
  }
  Report& report(const Field& field) {
    return report(field.dimension, field.window > 0s ? std::optional(field.window) : std::nullopt);
  }
  template <class T>
  void keep(const std::optional<T>& value, std::optional<T>& to) {
    value ? void(to = value) : void(++reading_.rubbish);
  }

  void read_field(const Field& field) {
    const std::string* text = lines_.find(field.name);
    if (text == nullptr) return;
    switch (field.part) {
      case Part::limit:
        return keep(read_count(*text), report(field).limit);
      case Part::remaining:
        return keep(read_count(*text), report(field).remaining);
      case Part::used:
        return read_used(field, *text);
      case Part::used_of_limit:
        return read_used_of_limit(field, *text);
      case Part::named_remaining:
        return read_named(field, *text);
      case Part::reset:
        return keep(read_wait(*text, field.form, at_), report(field).reset);
      case Part::window_ms:
        return read_window(field, *text);
      case Part::reset_in_fields:
        return read_fields(field, *text);
    }
  }

  void read_used(const Field& field, std::string_view text) {
    const auto used = read_count(text);
    Report& known = report(field);
    if (!used || !known.limit) return void(++reading_.rubbish);
    known.remaining = std::max<std::int64_t>(0, *known.limit - *used);
  }

  void read_used_of_limit(const Field& field, std::string_view text) {
    if (!field.inner.empty()) text = behind(field.inner, text);
    const std::size_t slash = text.find('/');
    const auto used = read_count(text.substr(0, slash));
    const auto limit = slash == std::string_view::npos ? std::nullopt : read_count(text.substr(slash + 1));
    if (!used || !limit) return void(++reading_.rubbish);
    Report& known = report(field);
    known.limit = limit;
    known.remaining = std::max<std::int64_t>(0, *limit - *used);
  }

  /// Of "api-usage=10018/100000; per-app-api-usage=17/250(appName=x)" the value behind a name.
  static std::string_view behind(std::string_view name, std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = text.find_first_of(",;");
      const std::string_view one = trimmed(text.substr(0, end));
      const std::size_t equals = one.find('=');
      if (trimmed(one.substr(0, equals)) == name && equals != std::string_view::npos)
        return trimmed(one.substr(equals + 1));
      if (end == std::string_view::npos) break;
      text.remove_prefix(end + 1);
    }
    return {};
  }

  void read_named(const Field& field, std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = text.find(',');
      const std::string_view one = trimmed(text.substr(0, end));
      const std::size_t mark = one.find_last_of(";:");
      const auto left = mark == std::string_view::npos ? std::nullopt : read_count(one.substr(mark + 1));
      if (left) {
        Report& known = report(field);
        known.remaining = std::min(known.remaining.value_or(*left), *left);
      } else {
        ++reading_.rubbish;
      }
      if (end == std::string_view::npos) return;
      text.remove_prefix(end + 1);
    }
  }

  void read_window(const Field& field, std::string_view text) {
    const auto wait = read_wait(text, WaitForm::milliseconds, at_);
    if (!wait || wait->wait <= 0s) return void(++reading_.rubbish);
    report(field).window = wait->wait;
  }

  void read_fields(const Field& field, std::string_view text) {
    Report& known = report(field);
    keep(read_count(behind("total", text)), known.limit);
    keep(read_count(behind("remaining", text)), known.remaining);
    keep(read_wait(behind("resets", text), WaitForm::seconds, at_), known.reset);
  }

  void keep_draft(const DraftLimit& limit) {
    Report& known = report(limit.unit.empty() ? "requests" : limit.unit, limit.window);
    if (limit.quota) known.limit = limit.quota;
    known.remaining = limit.remaining;
    if (limit.reset) known.reset = Wait{.wait = *limit.reset, .resolution = 1s};
  }

  void read_draft() {
    if (const std::string* field = lines_.find("ratelimit")) {
      auto limits = read_ratelimit(*field);
      if (!limits) return void(++reading_.rubbish);
      const std::string* policy = lines_.find("ratelimit-policy");
      const auto policies = policy != nullptr ? read_ratelimit_policy(*policy) : std::nullopt;
      if (policy != nullptr && !policies) ++reading_.rubbish;
      for (DraftLimit& limit : *limits) {
        add_policy(policies, limit);
        keep_draft(limit);
      }
      return;
    }
    read_three_fields();
  }

  static void add_policy(const std::optional<std::vector<DraftLimit>>& policies, DraftLimit& limit) {
    if (!policies) return;
    for (const DraftLimit& policy : *policies) {
      const bool same = limit.name.empty() ? policy.quota == limit.quota : policy.name == limit.name;
      if (!same) continue;
      limit.quota = policy.quota;
      limit.window = policy.window;
      limit.unit = policy.unit;
    }
  }

  /// RateLimit-Limit, -Remaining, -Reset of the first drafts.
  void read_three_fields() {
    const std::string* remaining = lines_.find("ratelimit-remaining");
    if (remaining == nullptr) return;
    DraftLimit limit;
    if (const std::string* quota = lines_.find("ratelimit-limit")) {
      const auto read = read_ratelimit_limit(*quota);
      read ? void(limit = *read) : void(++reading_.rubbish);
    }
    if (const std::string* policy = lines_.find("ratelimit-policy")) {
      if (const auto policies = read_ratelimit_policy(*policy); limit.quota) add_policy(policies, limit);
    }
    keep(read_count(*remaining), limit.remaining);
    if (!limit.remaining) return;
    if (const std::string* reset = lines_.find("ratelimit-reset")) {
      if (const auto wait = read_wait(*reset, WaitForm::number, at_)) {
        keep_draft(limit);
        report("requests", limit.window).reset = wait;
        return;
      }
      ++reading_.rubbish;
    }
    keep_draft(limit);
  }

  /// What the vendor says to wait, from the finest form to the coarsest.
  std::optional<Duration> stated_wait() {
    struct Hint {
      std::string_view name;
      WaitForm form;
    };
    static constexpr std::array kHints{Hint{"retry-after-ms", WaitForm::milliseconds},
                                       Hint{"x-ms-retry-after-ms", WaitForm::milliseconds},
                                       Hint{"retry-after", WaitForm::retry_after}};
    for (const Hint& hint : kHints) {
      const std::string* text = lines_.find(hint.name);
      if (text == nullptr) continue;
      if (const auto wait = read_wait(*text, hint.form, at_)) return wait->wait;
      ++reading_.rubbish;
    }
    return std::nullopt;
  }

  /// Of the dimensions with nothing left the latest; where none says what is left, of all. A dimension with
  /// plenty left says nothing about this refusal.
  [[nodiscard]] std::optional<Duration> wait_of_reports() const {
    std::optional<Duration> wait;
    const bool counted =
        std::ranges::any_of(reading_.reports, [](const Report& r) { return r.remaining.has_value(); });
    for (const Report& one : reading_.reports) {
      if (!one.reset || (counted && one.remaining != 0)) continue;
      wait = std::max(wait.value_or(Duration{0}), one.reset->wait);
    }
    return wait;
  }

  [[nodiscard]] bool nothing_left() const {
    return std::ranges::any_of(reading_.reports, [](const Report& one) { return one.remaining == 0; });
  }
  [[nodiscard]] bool reason_refuses() const {
    return std::ranges::any_of(profile_.reasons,
                               [&](std::string_view reason) { return answer_.reason.contains(reason); });
  }

  [[nodiscard]] Refusal refusal(const std::optional<Duration>& hint) const {
    if (answer_.reason == "lock_timeout") return Refusal::lock;
    const bool refused = answer_.status == 429 || reason_refuses() ||
                         (answer_.status == 503 && (hint || profile_.unavailable_refuses)) ||
                         (answer_.status == 529 && hint) ||
                         (answer_.status == 403 && profile_.forbidden_may_refuse && (hint || nothing_left()));
    if (!refused) return Refusal::none;
    const std::string* why = lines_.find("stripe-rate-limited-reason");
    return why != nullptr && why->ends_with("-concurrency") ? Refusal::concurrency : Refusal::rate;
  }

  /// What is no refusal may still not be the application's word: a call that never arrived, a page of
  /// whatever stands before it that says to wait (unreadably even), a 403 that may be the limit's.
  [[nodiscard]] bool answers(const std::optional<Duration>& hint) const {
    const int status = answer_.status;
    if (status >= 200 && status < 400) return true;
    if (status < 400 || status >= 500 || hint || lines_.find("retry-after") != nullptr) return false;
    if (status == 408 || status == 425) return false;
    return status != 403 || (!profile_.forbidden_may_refuse && !nothing_left());
  }

  const Profile& profile_;
  const VendorAnswer& answer_;
  Lines lines_;
  Instants at_;
  Reading reading_;
};

}  // namespace

Reading read_answer(const Profile& profile, const VendorAnswer& answer, WallTime now) {
  Reading reading = AnswerReader(profile, answer, now).read();
  if (reading.refusal == Refusal::rate && !reading.retry_after && profile.default_freeze > 0s)
    reading.retry_after = profile.default_freeze;
  return reading;
}

}  // namespace dripgate::vendor
