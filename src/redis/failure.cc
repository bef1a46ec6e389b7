#include "redis/failure.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace dripgate::redis {
namespace {

struct Meaning {
  std::string_view first_word;
  FailureKind kind;
  ErrorCode code;
};

constexpr std::array kMeanings{
    Meaning{"MOVED", FailureKind::moved, ErrorCode::unavailable},
    Meaning{"ASK", FailureKind::ask, ErrorCode::unavailable},
    Meaning{"TRYAGAIN", FailureKind::try_again, ErrorCode::unavailable},
    Meaning{"NOSCRIPT", FailureKind::no_script, ErrorCode::unavailable},
    Meaning{"READONLY", FailureKind::not_primary, ErrorCode::unavailable},
    Meaning{"MASTERDOWN", FailureKind::not_primary, ErrorCode::unavailable},
    Meaning{"LOADING", FailureKind::down, ErrorCode::unavailable},
    Meaning{"CLUSTERDOWN", FailureKind::down, ErrorCode::unavailable},
    Meaning{"NOREPLICAS", FailureKind::down, ErrorCode::unavailable},
    Meaning{"BUSY", FailureKind::down, ErrorCode::unavailable},
    Meaning{"MISCONF", FailureKind::down, ErrorCode::unavailable},  // persistence fails, writes are refused
    Meaning{"UNBLOCKED", FailureKind::down,
            ErrorCode::unavailable},  // a blocking call cut short by a failover
    Meaning{"OOM", FailureKind::down, ErrorCode::full},
    Meaning{"BUSYGROUP", FailureKind::refused, ErrorCode::conflict},
    Meaning{"NOGROUP", FailureKind::refused, ErrorCode::not_found},
};
/// What an operator can mend (users, passwords, a foreign value under our key): no fault of what was asked,
/// which may go through later.
constexpr std::array<std::string_view, 4> kOfTheDeployment{"NOPERM", "NOAUTH", "WRONGPASS", "WRONGTYPE"};
constexpr std::string_view kTooManyClients = "ERR max number of clients reached";

}  // namespace

std::string at_node(std::string_view node, std::string_view what) {
  std::string text = "redis ";
  return text.append(node).append(": ").append(what);
}

Failure unsent(ErrorCode code, std::string_view node, std::string_view why) {
  return {.kind = FailureKind::unsent,
          .error = {.code = code, .transient = true, .detail = at_node(node, why)}};
}

Failure unknown_outcome(std::string_view node, std::string_view why) {
  return {.kind = FailureKind::unknown,
          .error = {.code = ErrorCode::timed_out, .transient = true, .detail = at_node(node, why)}};
}

Failure classify(std::string_view text, std::string_view node) {
  const std::string_view first = text.substr(0, text.find(' '));
  const auto* meaning = std::ranges::find(kMeanings, first, &Meaning::first_word);
  Failure failure{.kind = FailureKind::refused,
                  .error = {.code = ErrorCode::invalid_argument, .detail = at_node(node, text)}};
  if (meaning != kMeanings.end()) {
    failure.kind = meaning->kind;
    failure.error.code = meaning->code;
    failure.error.transient = meaning->kind != FailureKind::refused;
  } else if (text.starts_with(kTooManyClients)) {
    failure.kind = FailureKind::down;
    failure.error.code = ErrorCode::unavailable;
    failure.error.transient = true;
  }
  if (std::ranges::find(kOfTheDeployment, first) != kOfTheDeployment.end()) failure.error.transient = true;
  if (failure.kind == FailureKind::moved || failure.kind == FailureKind::ask) {
    const auto target = parse_endpoint(text.substr(text.rfind(' ') + 1));
    if (target) {
      failure.target = *target;
    } else {
      failure.kind = FailureKind::down;
    }
  }
  return failure;
}

std::optional<Endpoint> parse_endpoint(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  Endpoint endpoint;
  const std::string_view digits = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), endpoint.port);
  if (error != std::errc{} || end != digits.data() + digits.size() || endpoint.port == 0) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  endpoint.host = host;
  return endpoint;
}

}  // namespace dripgate::redis
