// A client on a loop that the test drives, asked one question at a time or many at once.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "net/io_loop.h"
#include "redis/make_client.h"

namespace dripgate::redis::testing {

inline constexpr std::chrono::milliseconds kTestPatience{20'000};
/// Of calls that are not about time: a busy machine is no failure.
inline constexpr Duration kUnhurried = 5s;

class Asker {
 public:
  explicit Asker(Options options) : client(make_client(loop, std::move(options)).value()) {}
  ~Asker() {
    client.reset();
    loop.run_for(1ms);  // the close runs
  }
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;

  /// Drives the loop until it holds.
  bool until(const std::function<bool()>& holds, std::chrono::milliseconds patience = kTestPatience) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      loop.run_for(1ms);
    }
    return true;
  }
  Result<Reply> ask(std::initializer_list<std::string_view> words, std::string_view key = "k",
                    Duration timeout = kClientTimeout) {
    std::optional<Result<Reply>> got;
    client->command(key, Words(words.begin(), words.size()), timeout, [&](Result<Reply> reply) {
      EXPECT_FALSE(got.has_value()) << "answered twice";
      got = std::move(reply);
    });
    EXPECT_TRUE(until([&] { return got.has_value(); })) << "never answered";
    return got ? std::move(*got) : fail(ErrorCode::timed_out, "the test gave up");
  }
  Result<Reply> run(const Script& script, std::initializer_list<std::string_view> keys,
                    std::initializer_list<std::string_view> arguments = {}) {
    std::optional<Result<Reply>> got;
    client->run(script, Words(keys.begin(), keys.size()), Words(arguments.begin(), arguments.size()),
                [&](Result<Reply> reply) { got = std::move(reply); });
    EXPECT_TRUE(until([&] { return got.has_value(); })) << "never answered";
    return got ? std::move(*got) : fail(ErrorCode::timed_out, "the test gave up");
  }
  std::vector<NodeReply> each(std::initializer_list<std::string_view> words) {
    std::optional<std::vector<NodeReply>> got;
    client->each_primary(Words(words.begin(), words.size()),
                         [&](std::vector<NodeReply> replies) { got = std::move(replies); });
    EXPECT_TRUE(until([&] { return got.has_value(); })) << "never answered";
    return got.value_or(std::vector<NodeReply>{});
  }
  /// Asks until an answer comes that is no error; false: none came.
  bool works(std::initializer_list<std::string_view> words, std::string_view key = "k",
             std::chrono::milliseconds patience = kTestPatience) {
    return until([&] { return ask(words, key, kUnhurried).has_value(); }, patience);
  }

  net::IoLoop loop;
  std::unique_ptr<Client> client;
};

/// The reply's text, number, or its error's word: for comparing.
inline std::string shown(const Result<Reply>& reply) {
  if (!reply) return "(" + std::string(to_string(reply.error().code)) + ") " + reply.error().detail;
  if (const auto* number = reply->integer()) return std::to_string(*number);
  if (const auto* text = reply->text()) return *text;
  return reply->is_nil() ? "(nil)" : "(array)";
}

inline Endpoint local(std::uint16_t port) {
  return {.host = "127.0.0.1", .port = port};
}

}  // namespace dripgate::redis::testing
