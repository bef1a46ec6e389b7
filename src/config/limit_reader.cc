// Limit reader: see limit_reader.h.
#include "config/limit_reader.h"

#include <algorithm>
#include <optional>
#include <string>

#include "config/scalars.h"
#include "config/words.h"
#include "config/zone_load.h"

namespace dripgate::config {
namespace {

using core::Algorithm;
using core::Limit;
using core::Units;

constexpr Duration kDay = std::chrono::hours{24};
constexpr std::size_t kZoneBytesMax = 64;

constexpr std::array kAlgorithms{named(Algorithm::token_bucket), named(Algorithm::sliding_log),
                                 named(Algorithm::fixed_window)};

struct PerWindow {
  std::string_view key;
  Duration window;
};
constexpr std::array kShorts{PerWindow{"rps", 1s}, PerWindow{"rpm", 1min}, PerWindow{"rph", 1h},
                             PerWindow{"rpd", kDay}};
constexpr std::array kRefills{PerWindow{"refillPerSecond", 1s}, PerWindow{"refillPerMinute", 1min},
                              PerWindow{"refillPerHour", 1h}, PerWindow{"refillPerDay", kDay}};
constexpr std::array<std::string_view, 13> kEntryKeys{"rps",
                                                      "rpm",
                                                      "rph",
                                                      "rpd",
                                                      "limit",
                                                      "window",
                                                      "timezone",
                                                      "capacity",
                                                      "algorithm",
                                                      "refillPerSecond",
                                                      "refillPerMinute",
                                                      "refillPerHour",
                                                      "refillPerDay"};
constexpr std::string_view kLimitForms =
    "accepted: limit and window, capacity and refillPerSecond, refillPerMinute, refillPerHour or "
    "refillPerDay, limits: [...]";
constexpr std::string_view kEntryForms =
    "accepted: rps, rpm, rph, rpd, limit and window, or capacity and refillPer...";

std::string_view word_of(Algorithm algorithm) {
  return std::ranges::find(kAlgorithms, algorithm, &Word<Algorithm>::value)->word;
}

/// What the mapping around a `limits` list says for all its entries.
struct Defaults {
  std::optional<Algorithm> algorithm;
  std::optional<Units> capacity;
};

/// Units per window, however they were written.
struct Rate {
  std::string_view key;
  Units units = 0;
  Duration window{};
  bool refill = false;
};

std::optional<Algorithm> read_algorithm(const Fields& fields, Context& context) {
  const Node* node = fields.find("algorithm");
  return node ? read_word(*node, "algorithm", kAlgorithms, context.report) : std::nullopt;
}

std::optional<Units> read_capacity(const Fields& fields, Context& context) {
  const Node* node = fields.find("capacity");
  return node ? read_integer(*node, "capacity", {0, kLimitUnitsMax}, context.report) : std::nullopt;
}

std::optional<Rate> read_plain_rate(const Fields& fields, Context& context) {
  const Node* limit = fields.require("limit", "window needs it, such as limit: 10");
  const Node* window = fields.require("window", "limit needs it, such as window: 60s");
  const auto units =
      limit ? read_integer(*limit, "limit", {0, kLimitUnitsMax}, context.report) : std::nullopt;
  const auto span = window ? read_duration(*window, "window", kWindowMax, context.report) : std::nullopt;
  if (!units || !span) return std::nullopt;
  return Rate{"limit", *units, *span, false};
}

// The one rate of a mapping; several or none is an error.
std::optional<Rate> read_rate(const Fields& fields, std::string_view forms, Context& context) {
  std::vector<std::string_view> stated;
  std::vector<std::pair<PerWindow, bool>> words;
  for (const PerWindow& word : kShorts) words.emplace_back(word, false);
  for (const PerWindow& word : kRefills) words.emplace_back(word, true);
  const std::pair<PerWindow, bool>* chosen = nullptr;
  for (const auto& word : words) {
    if (!fields.mentions(word.first.key)) continue;
    stated.push_back(word.first.key);
    chosen = &word;
  }
  if (fields.mentions("limit") || fields.mentions("window")) stated.push_back("limit");
  if (stated.empty()) {
    context.report.error(fields.at(), fields.what() + " has no limit; " + std::string(forms));
    return std::nullopt;
  }
  if (stated.size() > 1) {
    context.report.error(fields.mark(stated[1]), fields.what() + " has both " + std::string(stated[0]) +
                                                     " and " + std::string(stated[1]) +
                                                     "; each limit is an item of its own in limits: [...]");
    return std::nullopt;
  }
  if (chosen == nullptr) return read_plain_rate(fields, context);
  const auto& [word, refill] = *chosen;
  const Node* node = fields.find(word.key);
  const auto units = node ? read_integer(*node, word.key, {0, kLimitUnitsMax}, context.report) : std::nullopt;
  if (!units) return std::nullopt;
  return Rate{word.key, *units, word.window, refill};
}

// Which algorithm a limit has: what it says, else what its words mean, else what stands around the list.
std::optional<Algorithm> choose_algorithm(const Fields& fields, const Rate& rate, const Defaults& defaults,
                                          Context& context) {
  const bool bucket_words = rate.refill || fields.mentions("capacity");
  const auto stated = read_algorithm(fields, context);
  if (fields.mentions("algorithm") && !stated) return std::nullopt;
  if (stated && bucket_words && *stated != Algorithm::token_bucket) {
    const std::string_view key = rate.refill ? rate.key : "capacity";
    context.report.error(fields.mark(key), std::string(key) + " belongs to algorithm token-bucket, and " +
                                               fields.what() + " says " + std::string(word_of(*stated)));
    return std::nullopt;
  }
  if (stated) return stated;
  return bucket_words ? Algorithm::token_bucket : defaults.algorithm.value_or(Algorithm::fixed_window);
}

bool set_capacity(Limit& limit, const Fields& fields, const Defaults& defaults, Context& context) {
  if (limit.algorithm != Algorithm::token_bucket) {
    limit.capacity = limit.limit;
    return true;
  }
  auto capacity = read_capacity(fields, context);
  if (!fields.mentions("capacity")) capacity = defaults.capacity;
  if (!capacity && !fields.mentions("capacity")) {
    context.report.error(fields.at(),
                         fields.what() + " has no capacity; a token-bucket needs it, such as capacity: 20");
  }
  limit.capacity = capacity.value_or(0);
  return capacity.has_value();
}

bool set_zone(Limit& limit, const Fields& fields, Context& context) {
  if (!fields.mentions("timezone")) return true;
  const Node* node = fields.find("timezone");
  if (node == nullptr) return false;
  if (limit.algorithm != Algorithm::fixed_window || limit.window != kDay) {
    context.report.error(fields.mark("timezone"),
                         "timezone means calendar days; accepted: with rpd or window: 1d, and algorithm "
                         "fixed-window");
    return false;
  }
  const auto name = read_text(*node, "timezone", kZoneBytesMax, context.report);
  if (!name) return false;
  auto zone = load_zone(*name);
  if (!zone) {
    context.report.error(node->at, zone.error().detail);
    return false;
  }
  limit.zone = *std::move(zone);
  return true;
}

// Waits are computed as cost x window: beyond 2^53 a double in the shared store is no longer exact. A fixed
// window multiplies nothing.
bool check_exact(const Limit& limit, const Rate& rate, const Fields& fields, Context& context) {
  if (limit.algorithm == Algorithm::fixed_window) return true;
  const Units most = (kExactIntegerMax - 1) / limit.window.count();
  if (limit.max_cost() <= most) return true;
  const bool bucket = limit.algorithm == Algorithm::token_bucket;
  const std::string_view key = bucket && fields.mentions("capacity") ? "capacity" : rate.key;
  context.report.error(fields.mark(key),
                       std::string(bucket ? "capacity " : "limit ") + std::to_string(limit.max_cost()) +
                           " x window " + shown(limit.window) +
                           " passes 2^53 microseconds, where exact arithmetic ends; accepted: at most " +
                           std::to_string(most) + " for this window");
  return false;
}

std::optional<Limit> read_limit(const Fields& fields, std::string_view forms, const Defaults& defaults,
                                Context& context) {
  const auto rate = read_rate(fields, forms, context);
  if (!rate) return std::nullopt;
  const auto algorithm = choose_algorithm(fields, *rate, defaults, context);
  if (!algorithm) return std::nullopt;
  Limit limit;
  limit.algorithm = *algorithm;
  limit.limit = rate->units;
  limit.window = rate->window;
  const bool capacity_ok = set_capacity(limit, fields, defaults, context);
  const bool zone_ok = set_zone(limit, fields, context);
  if (!capacity_ok || !zone_ok || !check_exact(limit, *rate, fields, context)) return std::nullopt;
  return limit;
}

// Around a list only what its entries share may stand.
Defaults read_defaults(const Fields& fields, Context& context) {
  for (const std::string_view key : kLimitKeys) {
    if (key == "limits" || key == "algorithm" || key == "capacity" || fields.find(key) == nullptr) continue;
    context.report.error(fields.mark(key), std::string(key) + " stands beside limits in " + fields.what() +
                                               "; accepted: inside an item of limits, or without limits");
  }
  return {read_algorithm(fields, context), read_capacity(fields, context)};
}

std::vector<Limit> read_limit_list(const Fields& fields, const Node& list, Context& context) {
  const Defaults defaults = read_defaults(fields, context);
  std::vector<Limit> limits;
  std::size_t number = 0;
  for (const Node& item : list_items(list, "limits", kLimitsPerPolicyMax, context.report)) {
    const std::string what = "limit " + std::to_string(++number) + " of " + fields.what();
    const Fields entry(item, what, kEntryKeys, context.report);
    const auto limit = entry.is_map() ? read_limit(entry, kEntryForms, defaults, context) : std::nullopt;
    if (!limit) continue;
    if (std::ranges::any_of(limits, [&](const Limit& other) { return same_shape(other, *limit); })) {
      context.report.error(item.at,
                           what + " has the algorithm and window of an earlier one; keep the smaller");
    }
    limits.push_back(*limit);
  }
  const bool all_read = limits.size() == list.items.size();
  const bool bucket =
      std::ranges::any_of(limits, [](const Limit& l) { return l.algorithm == Algorithm::token_bucket; });
  if (defaults.capacity && all_read && !bucket) {
    context.report.error(
        fields.mark("capacity"),
        "capacity belongs to algorithm token-bucket, and no limit of " + fields.what() + " has it");
  }
  return limits;
}

}  // namespace

std::vector<DimensionLimit> read_dimension_limits(const Fields& fields, const Node& list, Context& context) {
  static constexpr auto kKeys = joined_keys(kEntryKeys, std::array<std::string_view, 1>{"dimension"});
  std::vector<DimensionLimit> limits;
  std::size_t number = 0;
  for (const Node& item : list_items(list, "limits", kLimitsPerPolicyMax, context.report)) {
    const std::string what = "limit " + std::to_string(++number) + " of " + fields.what();
    const Fields entry(item, what, kKeys, context.report);
    const auto limit = entry.is_map() ? read_limit(entry, kEntryForms, {}, context) : std::nullopt;
    if (!limit) continue;
    DimensionLimit one{.limit = *limit, .dimension = "requests"};
    if (const Node* node = entry.find("dimension"))
      one.dimension = read_name(*node, "dimension", context.report).value_or("");
    limits.push_back(std::move(one));
  }
  return limits;
}

std::vector<Limit> read_limits(const Fields& fields, Context& context) {
  if (fields.mentions("limits")) {
    const Node* list = fields.find("limits");
    return list ? read_limit_list(fields, *list, context) : std::vector<Limit>{};
  }
  const auto limit = read_limit(fields, kLimitForms, {}, context);
  return limit ? std::vector{*limit} : std::vector<Limit>{};
}

}  // namespace dripgate::config
