#include "redis/call.h"

#include <utility>

#include "redis/encode.h"

namespace dripgate::redis {
namespace {

constexpr std::size_t kWordsBesideKeys = 3;  // EVALSHA, the script, the count
constexpr std::size_t kFramingBytes = 16;    // of one word, about

std::size_t bytes_of(Words words) {
  std::size_t bytes = 0;
  for (const std::string_view word : words) bytes += word.size() + kFramingBytes;
  return bytes;
}

}  // namespace

void Call::become_eval() {
  std::string eval;
  eval.reserve(wire.size() + script_text.size());
  append_head(eval, words);
  append_word(eval, "EVAL");
  append_word(eval, script_text);
  eval.append(wire, tail_at);
  wire = std::move(eval);
  script_text = {};
}

void Call::finish(Outcome outcome) {
  if (outcome) return done(std::move(*outcome));
  done(std::unexpected(std::move(outcome.error().error)));
}

CallPtr command_call(Words words, MonoTime deadline, Done<Reply> done) {
  return std::make_unique<Call>(Call{.wire = encode(words), .deadline = deadline, .done = std::move(done)});
}

CallPtr script_call(const Script& script, Words keys, Words arguments, MonoTime deadline, Done<Reply> done) {
  auto call = std::make_unique<Call>(Call{.deadline = deadline, .done = std::move(done)});
  std::string& wire = call->wire;
  wire.reserve(bytes_of(keys) + bytes_of(arguments) + script.sha1().size() + 4 * kFramingBytes);
  call->words = kWordsBesideKeys + keys.size() + arguments.size();
  append_head(wire, call->words);
  append_word(wire, "EVALSHA");
  append_word(wire, script.sha1());
  call->script_text = script.text();
  call->tail_at = wire.size();
  append_word(wire, std::to_string(keys.size()));
  for (const std::string_view key : keys) append_word(wire, key);
  for (const std::string_view argument : arguments) append_word(wire, argument);
  return call;
}

}  // namespace dripgate::redis
