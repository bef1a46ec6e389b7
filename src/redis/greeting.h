// Greeting: what a new connection says first (AUTH, SELECT, CLIENT SETNAME, ROLE), and whether the answers
// are good. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "redis/client.h"
#include "redis/failure.h"
#include "redis/reply_reader.h"

namespace dripgate::redis {

/// Who speaks on a connection.
struct Identity {
  std::string user{};
  std::string password{};
  std::string name{};
  int database = 0;
  bool primary_only = false;  // ROLE must say master
};

class Greeting {
 public:
  explicit Greeting(const Identity& identity);

  [[nodiscard]] const std::string& wire() const { return wire_; }
  /// Takes bytes of the answer. True: all is said and well. Errors: what the server refused.
  [[nodiscard]] Result<bool> received(std::string_view bytes, std::string_view node);

 private:
  enum class Step : std::uint8_t { must, may, role };  // may: a refusal does not matter

  void say(Step step, Words words);

  std::string wire_;
  std::vector<Step> steps_;
  std::size_t answered_ = 0;
  ReplyReader reader_;
};

}  // namespace dripgate::redis
