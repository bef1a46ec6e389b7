// Secret reader: see secret_reader.h.
#include "config/secret_reader.h"

#include <algorithm>
#include <optional>

#include "config/file_read.h"
#include "config/paths.h"
#include "config/scalars.h"
#include "config/words.h"

namespace dripgate::config {
namespace {

constexpr std::size_t kSecretBytesMax = 4'096;
constexpr std::size_t kSecretBytesWeak = 16;

std::optional<std::string> from_file(const Node& node, Context& context) {
  const auto path = read_text(node, "file", kPathBytesMax, context.report);
  if (!path) return std::nullopt;
  const std::string resolved = context.resolve(*path);
  context.secret_files.push_back(resolved);
  auto bytes = read_file(resolved, kSecretBytesMax);
  if (bytes) return *std::move(bytes);
  context.report.error(node.at,
                       "secret file " + in_quotes(*path) + " cannot be read: " + bytes.error().detail);
  return std::nullopt;
}

std::optional<std::string> from_environment(const Node& node, Context& context) {
  const auto name = read_name(node, "env", context.report);
  if (!name) return std::nullopt;
  auto value = context.environment ? context.environment(*name) : std::nullopt;
  if (!value) context.report.error(node.at, "environment variable " + in_quotes(*name) + " is not set");
  return value;
}

// Headers carry it, so that only what a header can hold can ever match.
std::string checked(std::string secret, const Node& node, Context& context) {
  while (secret.ends_with('\n') || secret.ends_with('\r')) secret.pop_back();
  const auto visible = [](char c) { return c > 0x20 && c < 0x7F; };
  if (secret.empty() || !std::ranges::all_of(secret, visible)) {
    context.report.error(node.at,
                         "the secret is empty or holds spaces or other than printable ASCII; "
                         "accepted: one line of letters, digits and signs");
    return {};
  }
  if (secret.size() < kSecretBytesWeak) {
    context.report.warning(node.at, "the secret is shorter than " + std::to_string(kSecretBytesWeak) +
                                        " characters: easy to guess");
  }
  return secret;
}

}  // namespace

std::string read_secret(const Fields& fields, Context& context) {
  const Node* file = fields.find("file");
  const Node* env = fields.find("env");
  if ((file == nullptr) == (env == nullptr)) {
    if (!fields.mentions("file") && !fields.mentions("env")) {
      context.report.error(fields.at(), fields.what() + ": " + std::string(kSecretForms));
    } else if (file != nullptr) {
      context.report.error(fields.mark("env"), fields.what() + " has both file and env; keep one");
    }
    return {};
  }
  const Node& node = file != nullptr ? *file : *env;
  auto secret = file != nullptr ? from_file(node, context) : from_environment(node, context);
  return secret ? checked(*std::move(secret), node, context) : std::string();
}

}  // namespace dripgate::config
