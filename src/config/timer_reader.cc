// Timer reader: see timer_reader.h.
#include "config/timer_reader.h"

#include <algorithm>
#include <array>

#include "config/endpoint.h"
#include "config/identity.h"
#include "config/scalars.h"
#include "config/words.h"

namespace dripgate::config {
namespace {

constexpr std::array<std::string_view, 1> kTimerKeys{"cloudTasks"};
constexpr std::array<std::string_view, 7> kTasksKeys{
    "location", "queues", "target", "serviceAccount", "audience", "maxTaskBytes", "claimCheck"};
constexpr std::array<std::string_view, 2> kClaimPlaces{"redis", "sqlite"};
constexpr std::array<std::string_view, 2> kClaimKeys{"maxBytes", "maxEventBytes"};
constexpr std::string_view kForms =
    "accepted: { cloudTasks: { location, queues, target, serviceAccount, audience, maxTaskBytes, claimCheck "
    "} }";
constexpr std::string_view kClaimForms =
    "accepted: claimCheck: { redis: {} }, or with maxBytes, maxEventBytes";
constexpr std::size_t kIdBytesMax = 100;
constexpr std::size_t kAccountBytesMax = 254;
constexpr std::size_t kAudienceBytesMax = 1'024;
constexpr std::size_t kTaskBytesMin = 4'096;
constexpr std::int64_t kClaimBytesMin = 1 << 20;
constexpr std::int64_t kClaimBytesMax = std::int64_t{1} << 40;
/// Beyond the time for which the service keeps a name.
constexpr Duration kIdRetentionMin = kTaskNameTakenMax + std::chrono::hours{1};

// Letters, digits and hyphens: what both queues and locations are made of.
std::string read_id(const Node& node, const std::string& what, std::string_view example, Report& report) {
  const auto text = read_text(node, what, kIdBytesMax, report);
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  };
  if (!text || std::ranges::all_of(*text, fits)) return text.value_or("");
  report.error(node.at, what + " is " + in_quotes(*text) +
                            "; accepted: letters, digits and hyphens, such as " + std::string(example));
  return {};
}

std::vector<std::string> read_queues(const Node& node, Report& report) {
  std::vector<std::string> queues;
  Unique names("queue", report);
  for (const Node& item : list_items(node, "queues", kTaskQueuesMax, report)) {
    std::string queue = read_id(item, "queue", "payouts-1", report);
    if (!queue.empty() && names.add(queue, item.at)) queues.push_back(std::move(queue));
  }
  return queues;
}

std::string read_account(const Node& node, Report& report) {
  const auto text = read_text(node, "serviceAccount", kAccountBytesMax, report);
  if (!text) return {};
  const std::size_t at = text->find('@');
  if (at != std::string::npos && at > 0 && at + 1 < text->size() && text->find(' ') == std::string::npos)
    return *text;
  report.error(node.at, "serviceAccount is " + in_quotes(*text) +
                            "; accepted: the e-mail address of a service account, such as "
                            "tasks@acme.iam.gserviceaccount.com");
  return {};
}

void read_bytes_into(const Fields& fields, std::string_view key, std::int64_t max, std::size_t& target,
                     Report& report) {
  const Node* node = fields.find(key);
  const auto bytes = node == nullptr ? std::nullopt : read_bytes(*node, key, {kClaimBytesMin, max}, report);
  if (bytes) target = static_cast<std::size_t>(*bytes);
}

std::optional<ClaimCheck> read_claim_check(const Node& node, const Fields& timer, Report& report) {
  const Fields places(node, "claimCheck of " + timer.what(), kClaimPlaces, report);
  if (!places.is_map()) return std::nullopt;
  if (places.mentions("sqlite")) {
    report.error(places.mark("sqlite"), "a file cannot be the claimCheck of " + timer.what() +
                                            ": dispatchers are other processes than workers; " +
                                            std::string(kClaimForms));
    return std::nullopt;
  }
  const Node* redis = places.require("redis", kClaimForms);
  if (redis == nullptr) return std::nullopt;
  const Fields bounds(*redis, "claimCheck of " + timer.what(), kClaimKeys, report);
  if (!bounds.is_map()) return std::nullopt;
  ClaimCheck check;
  read_bytes_into(bounds, "maxBytes", kClaimBytesMax, check.bytes_max, report);
  read_bytes_into(bounds, "maxEventBytes", kClaimEventBytesDefault, check.event_bytes_max, report);
  if (check.event_bytes_max > check.bytes_max) {
    report.error(bounds.mark("maxEventBytes"),
                 "maxEventBytes of " + bounds.what() + " is " + std::to_string(check.event_bytes_max) +
                     "; accepted: at most its maxBytes, " + std::to_string(check.bytes_max));
  }
  return check;
}

CloudTasksTimer read_cloud_tasks(const Fields& fields, Context& context) {
  Report& report = context.report;
  CloudTasksTimer timer;
  if (const Node* node = fields.require("location", "such as location: asia-south1"))
    timer.location = read_id(*node, "location", "asia-south1", report);
  if (const Node* node = fields.require("queues", "such as queues: [payouts-1, payouts-2]"))
    timer.queues = read_queues(*node, report);
  if (const Node* node = fields.require("target", "such as target: \"https://dispatch.example.com\"")) {
    timer.target = read_url(*node, "target", report);
    timer.audience = timer.target;
    while (timer.target.ends_with('/')) timer.target.pop_back();
  }
  if (const Node* node = fields.require("serviceAccount", "the e-mail address of a service account"))
    timer.service_account = read_account(*node, report);
  if (const Node* node = fields.find("audience"))
    timer.audience = read_text(*node, "audience", kAudienceBytesMax, report).value_or("");
  if (const Node* node = fields.find("maxTaskBytes")) {
    const Range range{static_cast<std::int64_t>(kTaskBytesMin), static_cast<std::int64_t>(kTaskBytesMax)};
    timer.task_bytes_max =
        static_cast<std::size_t>(read_bytes(*node, "maxTaskBytes", range, report).value_or(range.min));
  }
  if (const Node* node = fields.find("claimCheck"))
    timer.claim_check = read_claim_check(*node, fields, report);
  return timer;
}

}  // namespace

std::optional<CloudTasksTimer> read_timer(const Fields& stream, Context& context) {
  const Node* node = stream.find("timer");
  if (node == nullptr) return std::nullopt;
  const Fields timer(*node, "timer of " + stream.what(), kTimerKeys, context.report);
  if (!timer.is_map()) return std::nullopt;
  const Node* tasks = timer.require("cloudTasks", kForms);
  if (tasks == nullptr) return std::nullopt;
  const Fields fields(*tasks, "cloudTasks of " + stream.what(), kTasksKeys, context.report);
  if (!fields.is_map()) return std::nullopt;
  return read_cloud_tasks(fields, context);
}

void fit_to_cloud_tasks(const Fields& stream, core::BookingPolicy& booking, Context& context) {
  if (booking.max_delay > kTaskAheadMax) {
    booking.max_delay = kTaskAheadMax;
    context.report.warning(stream.mark("maxDelay"),
                           "Cloud Tasks takes nothing further ahead than 30 days: the horizon of " +
                               stream.what() + " is 10 minutes less than that");
  }
  if (booking.id_retention >= kIdRetentionMin) return;
  if (stream.mentions("idRetention")) {
    context.report.error(
        stream.mark("idRetention"),
        "idRetention of " + stream.what() + " is " + shown(booking.id_retention) +
            ", but Cloud Tasks keeps the name of a task for up to a day: an id that comes back "
            "as a new event within it would be lost; accepted: at least " +
            shown(kIdRetentionMin));
  }
  booking.id_retention = kIdRetentionMin;
}

}  // namespace dripgate::config
