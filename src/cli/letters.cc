// `dripgate dlq list|show|replay|purge STREAM`: the dead letters of a stream.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/api_client.h"
#include "cli/console.h"
#include "cli/verbs.h"

namespace dripgate::cli {
namespace {

using Json = nlohmann::json;
using Action = LetterOptions::Action;

struct Question {
  std::string method;
  std::string target;
  std::string body;
};

Question question_of(const LetterOptions& options) {
  const std::string letters = "/v1/streams/" + http::percent_encode(options.stream) + "/dead-letters";
  const std::string one = options.sequence ? fmt::format("{}/{}", letters, *options.sequence) : "";
  switch (options.action) {
    case Action::list:
      return {"GET", fmt::format("{}?after={}&limit={}", letters, options.after, options.count), {}};
    case Action::show:
      return {"GET", one, {}};
    case Action::replay:
      if (options.sequence) return {"POST", one + "/replay", {}};
      return {"POST", letters + "/replay", Json{{"perSecond", options.per_second}}.dump()};
    case Action::purge:
      if (options.sequence) return {"DELETE", one, {}};
      return {"POST", letters + "/purge",
              Json{{"olderThan", fmt::format("{}ms", options.older_than / 1ms)}}.dump()};
  }
  std::unreachable();
}

std::string text_of(const Json& letter, const char* name) {
  const auto value = letter.find(name);
  return value != letter.end() && value->is_string() ? printable(value->get<std::string>()) : "-";
}

void print_list(const Json& answer) {
  const Json letters = answer.value("deadLetters", Json::array());
  if (!letters.empty())
    print_line(fmt::format("{:>8}  {:<24}  {:<22}  {:<24}  key", "seq", "dead at", "reason", "id"));
  for (const Json& letter : letters) {
    print_line(fmt::format("{:>8}  {:<24}  {:<22}  {:<24}  {}", letter.value("seq", std::uint64_t{0}),
                           text_of(letter, "deadAt"), text_of(letter, "reason"), text_of(letter, "id"),
                           text_of(letter, "key")));
  }
  print_line(fmt::format("{} of {} dead letters", letters.size(), answer.value("total", std::uint64_t{0})));
  if (const auto next = answer.find("next"); next != answer.end() && next->is_number()) {
    print_line(fmt::format("more: --after {}", next->get<std::uint64_t>()));
  }
}

void print_letter(const Json& letter) {
  for (const char* name : {"id", "key", "reason", "detail", "firstReceived", "deadAt"}) {
    print_line(fmt::format("{:<14} {}", name, text_of(letter, name)));
  }
  print_line(fmt::format("{:<14} {}", "attempts", letter.value("attempts", 0)));
  for (const auto& [name, value] : letter.value("attributes", Json::object()).items()) {
    print_line(fmt::format("{:<14} {}", printable(name),
                           printable(value.is_string() ? value.get<std::string>() : "")));
  }
  const std::string body = text_of(letter, "body");
  print_line(fmt::format("body ({} bytes)", letter.value("bytes", 0)));
  print_line(body == "-" ? "base64: " + text_of(letter, "bodyBase64") : body);
}

std::string letters_text(std::uint64_t count) {
  return fmt::format("{} dead letter{}", count, count == 1 ? "" : "s");
}

void print_answer(Action action, const Json& answer) {
  switch (action) {
    case Action::list:
      return print_list(answer);
    case Action::show:
      return print_letter(answer);
    case Action::replay:
      print_line("replaying " + letters_text(answer.value("replaying", std::uint64_t{0})));
      if (answer.value("conflict", false)) {
        print_line("its id stands for other bytes: it goes out as " + text_of(answer, "id"));
      }
      return;
    case Action::purge:
      return print_line(letters_text(answer.value("removed", std::uint64_t{0})) + " removed");
  }
}

}  // namespace

int run_letters(const LetterOptions& options) {
  auto api = ApiClient::make(options.server);
  if (!api) return complain(api.error());
  const Question question = question_of(options);
  const auto answer = (*api)->ask(question.method, question.target, question.body);
  return show(answer, options.json, [&](const Json& parsed) { print_answer(options.action, parsed); });
}

}  // namespace dripgate::cli
