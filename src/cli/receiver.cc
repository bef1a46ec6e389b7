#include "cli/receiver.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/rfc3339.h"
#include "broker/attribute_names.h"

namespace dripgate::cli {
namespace {

// Always the same sequence: a run that failed can be run again.
constexpr std::uint64_t kFailSeed = 1;

}  // namespace

std::string to_json_line(const Received& received) {
  // In this order: the fields a person looks for come first.
  nlohmann::ordered_json line;
  line["time"] = format_rfc3339(received.time, Fraction::milliseconds);
  line["id"] = received.id;
  line["stream"] = received.stream;
  line["key"] = received.key;
  line["attempt"] = received.attempt;
  line["slot"] = received.slot;
  line["released"] = received.released;
  line["status"] = received.status;
  line["bytes"] = received.bytes;
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Receiver::Receiver(ReceiverPlay play, const Clock& clock, net::IoLoop& loop, Taker taker)
    : play_(play), clock_(clock), loop_(loop), taker_(std::move(taker)), random_(kFailSeed) {}

http::Response Receiver::decide(WallTime now) {
  if (play_.limit > 0) {
    const std::int64_t window = to_us(now) / play_.window.count();
    if (std::exchange(window_, window) != window) in_window_ = 0;
    if (++in_window_ > play_.limit) {
      const std::int64_t left_us = (window + 1) * play_.window.count() - to_us(now);
      return {429, {{"Retry-After", fmt::format("{}", (left_us + 999'999) / 1'000'000)}}, {}};
    }
  }
  if (std::bernoulli_distribution(play_.fail_rate)(random_)) return {play_.fail_status, {}, {}};
  return {200, {}, {}};
}

void Receiver::handle(http::Request request, http::Reply reply) {
  const WallTime now = clock_.now();
  http::Response response = decide(now);
  const auto header = [&](std::string_view name) {
    return std::string(http::value_of(request.headers, name));
  };
  taker_({.time = now,
          .id = header(broker::kIdAttribute),
          .stream = header(broker::kStreamAttribute),
          .key = header(broker::kKeyAttribute),
          .attempt = header(broker::kAttemptAttribute),
          .slot = header(broker::kSlotAttribute),
          .released = header(broker::kReleasedAttribute),
          .status = response.status,
          .bytes = request.body.size()});
  if (play_.slow == Duration{0}) return reply(std::move(response));
  loop_.post_after(play_.slow, [reply = std::move(reply), response = std::move(response)]() mutable {
    reply(std::move(response));
  });
}

}  // namespace dripgate::cli
