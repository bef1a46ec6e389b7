// Call: one command or script on its way, in the bytes it is sent as; kept by whoever may have to send it
// again after a reply that says nothing was done. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "redis/client.h"
#include "redis/failure.h"

namespace dripgate::redis {

struct Call {
  std::string wire{};
  MonoTime deadline{};
  Done<Reply> done{};
  std::string_view script_text{};  // of a script sent as EVALSHA; empty: nothing to fall back to
  std::size_t tail_at = 0;         // of a script: where the keys' count, keys and arguments begin in wire
  std::size_t words = 0;           // of a script
  std::uint16_t slot = 0;          // in a cluster
  int redirects = 0;               // followed so far

  /// After NOSCRIPT: the same call with the text. Once.
  void become_eval();
  void finish(Outcome outcome);
};
/// Of a script called without keys.
inline constexpr std::string_view kKeylessScript = "a script was called without keys; accepted: at least one";
using CallPtr = std::unique_ptr<Call>;

[[nodiscard]] CallPtr command_call(Words words, MonoTime deadline, Done<Reply> done);
[[nodiscard]] CallPtr script_call(const Script& script, Words keys, Words arguments, MonoTime deadline,
                                  Done<Reply> done);

}  // namespace dripgate::redis
