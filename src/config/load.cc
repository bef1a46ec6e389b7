// Load: the whole of one config file, from bytes to a checked Config. Called by app (start, reload), the
// CLI's lint and tests. Thread-safe: nothing is shared.
#include <array>
#include <filesystem>
#include <utility>

#include "base/sha256.h"
#include "config/config.h"
#include "config/context.h"
#include "config/fields.h"
#include "config/file_read.h"
#include "config/gcp_reader.h"
#include "config/lint.h"
#include "config/match.h"
#include "config/policy_lint.h"
#include "config/policy_reader.h"
#include "config/scalars.h"
#include "config/server_reader.h"
#include "config/store_reader.h"
#include "config/stream_lint.h"
#include "config/stream_reader.h"
#include "config/topics.h"
#include "config/vendor_reader.h"
#include "config/yaml_tree.h"

namespace dripgate::config {
namespace {

constexpr std::size_t kVersionDigits = 12;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::array<std::string_view, 7> kFileKeys{"scope", "policies", "streams", "vendors",
                                                    "store", "server",   "gcp"};
constexpr std::array<std::string_view, 3> kContentKeys{"policies", "streams", "vendors"};

void read_content(const Fields& file, Config& config, Context& context) {
  if (const Node* list = file.find("policies")) {
    const auto policies = read_policies(*list, config.scope, context);
    lint_policies(policies, context.report);
    for (const PlacedPolicy& placed : policies) config.policies.push_back(placed.policy);
  }
  if (const Node* list = file.find("vendors")) config.vendors = read_vendors(*list, context);
  if (const Node* list = file.find("streams")) {
    const auto streams = read_streams(*list, context);
    check_topics(streams, context.report);
    check_sources(streams, config, context.report);
    check_timers(streams, config, context.report);
    lint_streams(streams, context.report);
    for (const PlacedStream& placed : streams) config.streams.push_back(placed.settings);
    check_vendors_of_streams(config, *list, context);
  }
  if (!file.mentions_any(kContentKeys)) {
    context.report.error(file.at(),
                         "the file has neither policies nor streams nor vendors; accepted: any of them");
  }
}

Config read_config(const Fields& file, Context& context, std::optional<Store>& store_alone) {
  Config config;
  config.file = context.report.file();
  if (const Node* scope = file.find("scope")) {
    config.scope = read_name(*scope, "scope", context.report).value_or("");
  }
  if (const Node* store = file.find("store")) {
    const std::size_t errors = context.report.errors();
    config.store = read_store(*store, context);
    if (context.report.errors() == errors) store_alone = config.store;
  }
  if (const Node* gcp = file.find("gcp")) config.gcp = read_gcp(*gcp, context);
  read_content(file, config, context);
  if (const Node* server = file.find("server")) config.server = read_server(*server, context);
  if (!config.streams.empty() && !file.mentions("store")) {
    context.report.warning(
        file.at(),
        "no store is named: everything booked is in memory and gone when the process ends; "
        "accepted: store: { sqlite: PATH }, { redis: { url: ... } } or { memory: {} }");
  }
  config.secret_files = context.secret_files;
  config.matcher = std::make_shared<const Matcher>(config.policies);
  return config;
}

std::map<std::string, Place> find_places(const Node& tree) {
  std::map<std::string, Place> places;
  for (std::size_t i = 0; i < tree.keys.size(); ++i) {
    const Mark at = tree.keys[i].at;
    places.emplace(tree.keys[i].text, Place{at.line, at.column});
    if (tree.keys[i].text != "streams") continue;
    for (const Node& stream : tree.items[i].items) {
      for (std::size_t k = 0; k < stream.keys.size(); ++k) {
        if (stream.keys[k].text != "id") continue;
        places.emplace("stream " + stream.items[k].text, Place{stream.at.line, stream.at.column});
      }
    }
  }
  return places;
}

constexpr std::size_t kPemBytesMax = 1u << 20;

void check_pem_files(const std::vector<PemFile>& files, Report& report) {
  for (const PemFile& file : files) {
    const auto text = read_file(file.path, kPemBytesMax);
    if (!text) {
      report.error(file.at, file.name + " cannot be read: " + text.error().detail);
    } else if (text->find("-----BEGIN ") == std::string::npos) {
      report.error(file.at, file.name + " holds no PEM; accepted: a file with -----BEGIN ...-----");
    }
  }
}

Loaded unreadable(const std::string& file, std::string why) {
  return {std::nullopt, {{file, 1, 1, false, "the file cannot be read: " + std::move(why)}}, {}, {}, {}};
}

enum class PemFiles { as_named, opened };

Loaded parse_text(std::string_view text, const std::string& file, const Environment& environment,
                  PemFiles pem_files) {
  std::string_view body = text;
  if (body.starts_with(kByteOrderMark)) body.remove_prefix(kByteOrderMark.size());
  Report report(file, body);
  Context context{report, environment, std::filesystem::path(file).parent_path(), {}};
  Loaded loaded;
  if (const auto tree = read_tree(report)) {
    const Fields fields(*tree, "the file", kFileKeys, report);
    Config config = fields.is_map() ? read_config(fields, context, loaded.store) : Config{};
    config.version = sha256_hex(text, kVersionDigits);
    if (pem_files == PemFiles::opened) check_pem_files(context.pem_files, report);
    if (!report.has_errors()) loaded.config = std::move(config);
    loaded.places = find_places(*tree);
    loaded.secret_files = std::move(context.secret_files);
  }
  loaded.problems = report.take();
  return loaded;
}

Loaded load_text(const std::string& file, const Environment& environment, PemFiles pem_files) {
  const auto text = read_file(file, kConfigBytesMax);
  if (!text) return unreadable(file, text.error().detail);
  return parse_text(*text, file, environment, pem_files);
}

}  // namespace

Loaded parse(std::string_view text, const std::string& file) {
  return parse(text, file, Environment{});
}

Loaded parse(std::string_view text, const std::string& file, const Environment& environment) {
  return parse_text(text, file, environment, PemFiles::as_named);
}

Loaded load(const std::string& file) {
  return load(file, Environment{});
}

Loaded load(const std::string& file, const Environment& environment) {
  return load_text(file, environment, PemFiles::as_named);
}

Loaded load_for_lint(const std::string& file) {
  // It may stand for a token or for the url of a Redis: both are read from it.
  return load_text(
      file, [](const std::string& name) { return "redis://set-when-it-runs." + name; }, PemFiles::opened);
}

}  // namespace dripgate::config
