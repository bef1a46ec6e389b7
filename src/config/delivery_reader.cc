// Delivery reader: see delivery_reader.h.
#include "config/delivery_reader.h"

#include <array>

#include "config/endpoint.h"
#include "config/paths.h"
#include "config/scalars.h"
#include "config/topics.h"
#include "config/words.h"

namespace dripgate::config {
namespace {

constexpr Duration kDeliveryTimeoutMax = 10min;
constexpr std::int64_t kAttemptsMax = 100;
constexpr std::int64_t kConnectionsMax = 1'000;
constexpr std::array<std::string_view, 7> kDeliverKeys{"http",           "topic", "timeout", "maxAttempts",
                                                       "maxConnections", "ca",    "vendor"};
constexpr std::string_view kForms =
    "accepted: { http: \"http://host/path\", timeout, maxAttempts, maxConnections, ca, vendor } or { topic: "
    "NAME, maxAttempts }";

HttpDelivery read_http(const Fields& fields, const Node& url, Context& context) {
  HttpDelivery http;
  http.url = read_url(url, "http", context.report);
  if (const Node* node = fields.find("timeout")) {
    http.timeout =
        read_duration(*node, "timeout", kDeliveryTimeoutMax, context.report).value_or(http.timeout);
  }
  if (const Node* node = fields.find("maxConnections")) {
    const auto count = read_integer(*node, "maxConnections", {1, kConnectionsMax}, context.report);
    http.max_connections = static_cast<std::size_t>(count.value_or(1));
  }
  if (const Node* node = fields.find("ca")) {
    if (std::string path = read_pem_path(*node, "ca", context); !path.empty()) http.ca_file = std::move(path);
    if (http.url.starts_with("http://")) {
      context.report.error(fields.mark("ca"),
                           "ca belongs to an https:// endpoint, not to " + in_quotes(http.url));
    }
  }
  if (const Node* node = fields.find("vendor"))
    http.vendor = read_name(*node, "vendor", context.report).value_or("");
  return http;
}

TopicDelivery read_topic_delivery(const Fields& fields, const Node& topic, Context& context) {
  for (const std::string_view key : {"timeout", "maxConnections", "ca", "vendor"}) {
    if (!fields.mentions(key)) continue;
    context.report.error(fields.mark(key),
                         std::string(key) + " belongs to deliver: { http: ... }, not to a topic");
  }
  return {read_topic(topic, "deliver topic", context.report)};
}

}  // namespace

ReadDelivery read_delivery(const Fields& stream, Context& context) {
  ReadDelivery result{TopicDelivery{}};
  const Node* node = stream.require("deliver", kForms);
  if (node == nullptr) return result;
  const Fields fields(*node, "deliver of " + stream.what(), kDeliverKeys, context.report);
  if (!fields.is_map()) return result;
  const Node* http = fields.find("http");
  const Node* topic = fields.find("topic");
  if (http != nullptr && topic != nullptr) {
    context.report.error(fields.mark("topic"), fields.what() + " has both http and topic; keep one");
  } else if (http == nullptr && topic == nullptr && !fields.mentions("http") && !fields.mentions("topic")) {
    context.report.error(fields.at(), fields.what() + " says neither http nor topic; " + std::string(kForms));
  }
  if (http != nullptr) {
    result.delivery = read_http(fields, *http, context);
  } else if (topic != nullptr) {
    result.delivery = read_topic_delivery(fields, *topic, context);
  }
  if (const Node* attempts = fields.find("maxAttempts")) {
    const auto count = read_integer(*attempts, "maxAttempts", {1, kAttemptsMax}, context.report);
    result.max_attempts = static_cast<int>(count.value_or(1));
  }
  return result;
}

}  // namespace dripgate::config
