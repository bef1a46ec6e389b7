#include "app/config_topic.h"

#include <array>
#include <charconv>
#include <utility>

#include "app/lua/texts.h"

namespace dripgate::app {
namespace {

const redis::Script& report_script() {
  static const redis::Script script{lua::config_report};
  return script;
}

/// Empty: not a number.
std::optional<std::int64_t> number_in(const redis::Reply& reply) {
  if (reply.is_nil()) return 0;  // nobody has asked yet, or Redis is empty again
  const std::string* text = reply.text();
  std::int64_t number = 0;
  if (text == nullptr) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc{} || end != text->data() + text->size()) return std::nullopt;
  return number;
}

}  // namespace

ConfigTopic::ConfigTopic(redis::Client& client, Executor& executor, const std::string& key_prefix,
                         std::string instance, std::function<void(std::int64_t)> asked)
    : client_(client),
      executor_(executor),
      keys_(key_prefix),
      instance_(std::move(instance)),
      asked_(std::move(asked)) {}

void ConfigTopic::start() {
  if (std::exchange(running_, true)) return;
  poll();
}

void ConfigTopic::poll() {
  if (!running_) return;
  look();
  write();
  executor_.post_after(kConfigPollEvery, guard_.wrap([this] { poll(); }));
}

void ConfigTopic::listening() {
  look();
  write();
}

void ConfigTopic::look() {
  if (!running_) return;
  const std::array<std::string_view, 2> words{"GET", keys_.reload};
  client_.command(keys_.reload, words,
                  guard_.wrap([this](const Result<redis::Reply>& reply) { heard(reply); }));
}

void ConfigTopic::heard(const Result<redis::Reply>& reply) {
  const auto number = reply ? number_in(*reply) : std::nullopt;
  if (!running_ || !number || number == number_) return;
  number_ = number;
  asked_(*number);
}

void ConfigTopic::report(ConfigReport report) {
  std::string text = to_text(report);
  if (text == text_) return;
  text_ = std::move(text);
  write();
}

void ConfigTopic::write() {
  if (running_ && !text_.empty()) send(text_, [](const Result<redis::Reply>&) {});
}

void ConfigTopic::leave(Task done) {
  running_ = false;
  auto then = std::make_shared<Task>(std::move(done));
  send({}, [then](const Result<redis::Reply>&) { (*then)(); });
}

void ConfigTopic::send(std::string_view text, std::function<void(Result<redis::Reply>)> done) {
  const std::string kept = std::to_string(kConfigReportKept / std::chrono::milliseconds{1});
  const std::array<std::string_view, 2> keys{keys_.seen, keys_.reports};
  const std::array<std::string_view, 3> arguments{instance_, text, kept};
  client_.run(report_script(), keys, arguments, guard_.wrap(std::move(done)));
}

}  // namespace dripgate::app
