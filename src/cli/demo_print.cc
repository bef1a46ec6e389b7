#include "cli/demo_print.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/rfc3339.h"
#include "cli/console.h"

namespace dripgate::cli {
namespace {

std::string minute_text(DemoTally::Minute minute) {
  return format_rfc3339(WallTime{std::chrono::minutes{minute}}).substr(11, 5);
}

std::string joined_reasons(const DemoTally& tally) {
  std::string text;
  for (const auto& [reason, count] : tally.reasons()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, printable(reason));
  }
  return text;
}

}  // namespace

std::string demo_table(const DemoTally& tally) {
  std::set<DemoTally::Minute> minutes;
  std::size_t width = 8;
  for (const auto& [key, counts] : tally.keys()) {
    width = std::max(width, key.size());
    for (const auto& [minute, count] : counts) minutes.insert(minute);
  }
  std::string text = fmt::format("  {:<{}}", "released", width);
  for (const auto minute : minutes) text += fmt::format("  {:>5}", minute_text(minute));
  text += "\n";
  for (const auto& [key, counts] : tally.keys()) {
    text += fmt::format("  {:<{}}", printable(key), width);
    for (const auto minute : minutes) {
      const auto count = counts.find(minute);
      text += fmt::format("  {:>5}", count == counts.end() ? "." : fmt::format("{}", count->second));
    }
    text += "\n";
  }
  if (tally.keys().contains("*")) text += "  *: events without a merchant_id share one key\n";
  return text;
}

std::string demo_sums(const DemoTally& tally, std::uint64_t published) {
  std::uint64_t letters = 0;
  for (const auto& [reason, count] : tally.reasons()) letters += count;
  std::string text = fmt::format("  published         {}\n", published);
  text +=
      fmt::format("  delivered         {}{}\n", tally.released(),
                  tally.repeated() == 0 ? "" : fmt::format(" ({} of them more than once)", tally.repeated()));
  text += fmt::format("  late              {}   released after the minute of their slot\n", tally.late());
  text +=
      fmt::format("  dead-lettered     {}{}\n", letters, letters == 0 ? "" : "   " + joined_reasons(tally));
  text += fmt::format("  lost              {}\n", tally.lost(published));
  text += fmt::format("  windows exceeded  {}\n", tally.exceeded());
  return text;
}

std::string demo_next_steps() {
  return "Try next, in three terminals:\n"
         "  build/release/dripgate up -c examples/dripgate.yaml\n"
         "  build/release/dripgate sink --listen 127.0.0.1:9000\n"
         "  build/release/dripgate publish payouts examples/payouts.ndjson\n"
         "then: inspect payouts, dlq list payouts, freeze payouts merchant_8421:payout --for 5m, and kill -9 "
         "the\n"
         "first one: start it again and nothing is missing.\n";
}

}  // namespace dripgate::cli
