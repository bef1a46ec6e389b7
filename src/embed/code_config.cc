#include "embed/code_config.h"

#include <utility>

#include "core/names.h"
#include "embed/config_source.h"
#include "render/json_text.h"

namespace dripgate::embed {
namespace {

using render::JsonText;

// JSON on one line is YAML: JsonText is enough of a writer. Times in ms with a fraction: exact to the us.
std::string span_text(v1::Span span) {
  const std::int64_t us = span.count();
  std::string fraction = std::to_string(us < 0 ? -us % 1000 : us % 1000);
  fraction.insert(0, 3 - fraction.size(), '0');
  return std::to_string(us / 1000) + '.' + fraction + "ms";
}

void add_flag(JsonText& json, std::string_view name, bool flag) {
  if (flag) json.name(name).flag(true);
}

void add_text(JsonText& json, std::string_view name, std::string_view text) {
  if (!text.empty()) json.name(name).text(text);
}

void add_limit(JsonText& json, const v1::Limit& limit, std::string_view dimension = {}) {
  json.open('{');
  json.name("algorithm").text(core::to_string(static_cast<core::Algorithm>(limit.algorithm)));
  json.name("limit").number(limit.limit);
  json.name("window").text(span_text(limit.window));
  if (limit.algorithm == v1::Algorithm::token_bucket || limit.capacity != 0)
    json.name("capacity").number(limit.capacity);
  add_text(json, "timezone", limit.timezone);
  add_text(json, "dimension", dimension);
  json.close('}');
}

void add_limits(JsonText& json, const std::vector<v1::Limit>& limits) {
  if (limits.empty()) return;
  json.name("limits").open('[');
  for (const v1::Limit& limit : limits) add_limit(json, limit);
  json.close(']');
}

void add_vendor(JsonText& json, const v1::VendorOptions& options) {
  json.name("id").text(options.vendor);
  add_text(json, "key", options.key);
  if (!options.limits.empty()) {
    json.name("limits").open('[');
    for (const v1::VendorLimit& one : options.limits) add_limit(json, one.limit, one.dimension);
    json.close(']');
  }
  if (options.concurrent != 0) {
    json.name("inFlight").open('{');
    json.name("concurrent").number(options.concurrent);
    json.name("lease").text(span_text(options.lease));
    json.close('}');
  }
  json.name("profile").text(options.profile);
  json.name("freezeFloor").text(span_text(options.freeze_floor));
  json.name("freezeCap").text(span_text(options.freeze_cap));
  json.name("syncThreshold").text(std::to_string(options.sync_percent) + '%');
  if (options.on_store_failure)
    json.name("onStoreFailure")
        .text(core::to_string(static_cast<core::FailureMode>(*options.on_store_failure)));
  if (options.local_share != 1) json.name("localShare").number(options.local_share);
}

void add_match(JsonText& json, const v1::Policy& policy) {
  if (policy.match.empty()) return;
  json.name("match").open('{');
  for (const auto& [fact, patterns] : policy.match) {
    std::string quoted;
    JsonText(quoted).text(fact);
    // A name may hold what needs an escape.
    json.name(std::string_view(quoted).substr(1, quoted.size() - 2)).open('[');
    for (const std::string& pattern : patterns) json.text(pattern);
    json.close(']');
  }
  json.close('}');
}

void add_key(JsonText& json, const v1::Policy& policy) {
  json.name("key").open('[');
  for (const v1::KeyPart& part : policy.key) {
    json.open('{');
    json.name("name").text(part.name);
    add_flag(json, "secret", part.secret);
    add_flag(json, "trim", part.trim);
    add_flag(json, "lower", part.lower);
    json.close('}');
  }
  json.close(']');
}

void add_overrides(JsonText& json, const v1::Policy& policy) {
  if (policy.overrides.empty()) return;
  json.name("overrides").open('[');
  for (const v1::Override& one : policy.overrides) {
    json.open('{');
    json.name("value").text(one.value);
    add_flag(json, "unlimited", one.unlimited);
    add_limits(json, one.limits);
    json.close('}');
  }
  json.close(']');
}

std::string_view word_of(v1::MissingKey missing) {
  if (missing == v1::MissingKey::deny) return "deny";
  return missing == v1::MissingKey::skip ? "skip" : "defaultKey";
}

void add_policy(JsonText& json, const v1::Policy& policy) {
  json.open('{');
  json.name("id").text(policy.id);
  add_text(json, "name", policy.name);
  add_match(json, policy);
  add_flag(json, "ignoreCase", policy.ignore_case);
  add_key(json, policy);
  add_text(json, "scope", policy.scope);
  add_limits(json, policy.limits);
  if (policy.on_store_failure) {
    json.name("onStoreFailure")
        .text(core::to_string(static_cast<core::FailureMode>(*policy.on_store_failure)));
  }
  if (policy.local_share != 1) json.name("localShare").number(policy.local_share);
  json.name("onMissingKey").text(word_of(policy.on_missing_key));
  add_flag(json, "shadow", policy.shadow);
  add_flag(json, "unlimited", policy.unlimited);
  add_overrides(json, policy);
  if (policy.idempotency) {
    json.name("idempotency").open('{');
    json.name("ttl").text(span_text(policy.idempotency->ttl));
    json.name("maxReplays").number(policy.idempotency->max_replays);
    json.close('}');
  }
  json.close('}');
}

constexpr int kStoreLine = 2;
constexpr const char* kPasswordVariable = "PASSWORD";

std::string redis_text(const v1::RedisOptions& options) {
  using Layout = v1::RedisOptions::Layout;
  std::string text;
  JsonText json(text);
  const auto add_nodes = [&](std::string_view name) {
    json.name(name).open('[');
    for (const std::string& node : options.nodes) json.text(node);
    json.close(']');
  };
  json.open('{');
  json.name("redis").open('{');
  if (options.layout == Layout::single)
    json.name("url").text("redis://" + (options.nodes.empty() ? std::string() : options.nodes.front()));
  if (options.layout == Layout::cluster) add_nodes("cluster");
  if (options.layout == Layout::sentinel) {
    json.name("sentinel").open('{');
    json.name("master").text(options.sentinel_master);
    add_nodes("nodes");
    json.close('}');
  }
  add_text(json, "user", options.user);
  if (!options.password.empty()) {
    json.name("password").open('{');
    json.name("env").text(kPasswordVariable);
    json.close('}');
  }
  if (options.database != 0) json.name("database").number(options.database);
  if (options.tls) {
    json.name("tls").open('{');
    add_text(json, "ca", options.ca_file);
    add_text(json, "cert", options.cert_file);
    add_text(json, "key", options.key_file);
    json.close('}');
  }
  json.name("timeout").text(span_text(options.timeout));
  add_text(json, "keyPrefix", options.key_prefix);
  if (options.partitions != 0) json.name("partitions").number(options.partitions);
  json.close('}');
  json.close('}');
  return text;
}

Result<config::Store> read_store(const std::string& store, const config::Environment& environment) {
  config::Loaded loaded =
      config::parse("{\"policies\":[],\n\"store\":" + store + "}\n", "store in code", environment);
  if (loaded.store) return *loaded.store;
  std::erase_if(loaded.problems, [](const config::Problem& problem) { return problem.line != kStoreLine; });
  return std::unexpected(refusal(loaded.problems));
}

}  // namespace

std::string code_policies(const std::vector<v1::Policy>& policies) {
  std::string text = "{\"policies\":[";
  JsonText json(text);
  for (std::size_t i = 0; i < policies.size(); ++i) {
    text += i == 0 ? "\n" : ",\n";
    std::string one;
    JsonText line(one);
    add_policy(line, policies[i]);
    text += one;
  }
  return text + "]}\n";
}

std::string code_stream(const v1::SchedulerOptions& options) {
  std::string text;
  JsonText json(text);
  json.open('{');
  json.name("streams").open('[');
  json.open('{');
  json.name("id").text(options.stream);
  json.name("source").raw(R"({"embedded":"own"})");
  json.name("key").text("{key}");
  json.name("deliver").raw(R"({"topic":"own-sink"})");
  add_limits(json, options.limits);
  json.name("spread").text(options.spread == v1::Spread::start ? "start" : "even");
  json.name("maxDelay").text(span_text(options.horizon));
  json.name("idRetention").text(span_text(options.id_retention));
  json.close('}');
  json.close(']');
  json.name("store").raw(R"({"memory":{}})");
  json.close('}');
  return text + "\n";
}

std::string code_vendor(const v1::VendorOptions& options) {
  std::string text = "{\"vendors\":[\n";
  JsonText json(text);
  json.open('{');
  add_vendor(json, options);
  json.close('}');
  return text + "],\"store\":{\"memory\":{}}}\n";
}

Result<config::Store> code_store(const std::string& sqlite_path) {
  std::string text;
  JsonText json(text);
  json.open('{');
  json.name("sqlite").text(sqlite_path);
  json.close('}');
  return read_store(text, {});
}

Result<config::Store> code_store(const v1::RedisOptions& options) {
  if (options.layout == v1::RedisOptions::Layout::single && options.nodes.size() != 1) {
    return fail(ErrorCode::invalid_argument, "redis: nodes of a single server; accepted: one \"host:port\"");
  }
  return read_store(redis_text(options), [&](const std::string& name) -> std::optional<std::string> {
    if (name == kPasswordVariable) return options.password;
    return std::nullopt;
  });
}

}  // namespace dripgate::embed
