// Log over spdlog: the only file that includes it. The line is ours (text or JSON), spdlog carries it.
#include "obs/log.h"

#include <algorithm>
#include <mutex>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace dripgate::obs {

namespace {

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warn:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

// Between double quotes, one line, nothing that moves a terminal's cursor.
void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

struct AppendValue {
  std::string& out;
  void operator()(std::string_view text) const {
    const bool bare = !text.empty() && std::ranges::all_of(text, [](char c) {
      return static_cast<unsigned char>(c) > ' ' && c != 0x7f && c != '"' && c != '\\' && c != '=';
    });
    if (bare) {
      out += text;
    } else {
      append_quoted(out, text);
    }
  }
  void operator()(bool value) const { out += value ? "true" : "false"; }
  void operator()(std::int64_t value) const { out += std::to_string(value); }
  void operator()(double value) const { fmt::format_to(std::back_inserter(out), "{:.6g}", value); }
};

std::string text_line(std::string_view event, std::initializer_list<Field> fields, bool audit) {
  std::string line(event);
  if (audit) line += " audit=true";
  for (const Field& field : fields) {
    line += ' ';
    line += field.name;
    line += '=';
    std::visit(AppendValue{.out = line}, field.value);
  }
  return line;
}

// The members after time and level, which spdlog's pattern writes.
std::string json_line(std::string_view event, std::initializer_list<Field> fields, bool audit) {
  nlohmann::ordered_json object{{"event", event}};
  if (audit) object["audit"] = true;
  for (const Field& field : fields) {
    std::visit([&](const auto& value) { object[std::string(field.name)] = value; }, field.value);
  }
  const std::string text = object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return text.substr(1, text.size() - 2);
}

class CallbackSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit CallbackSink(std::function<void(std::string_view)> write) : write_(std::move(write)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    write_(std::string_view(line.data(), line.size()));
  }
  void flush_() override {}

  std::function<void(std::string_view)> write_;
};

spdlog::sink_ptr make_sink(const LogOptions& options) {
  if (options.write) return std::make_shared<CallbackSink>(options.write);
  return std::make_shared<spdlog::sinks::stderr_sink_mt>();
}

}  // namespace

struct Log::Impl {
  LogOptions options;
  spdlog::logger logger;

  explicit Impl(LogOptions o) : options(std::move(o)), logger("dripgate", make_sink(options)) {
    logger.set_level(spdlog::level::trace);  // the level is ours to check: audit lines pass every level
    logger.set_pattern(options.json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})"
                                    : "%Y-%m-%dT%H:%M:%S.%eZ %-5l %v",
                       spdlog::pattern_time_type::utc);
    logger.flush_on(spdlog::level::trace);
  }

  void write(Level level, std::string_view event, std::initializer_list<Field> fields, bool audit) {
    const std::string line = options.json ? json_line(event, fields, audit) : text_line(event, fields, audit);
    logger.log(to_spdlog(level), spdlog::string_view_t(line.data(), line.size()));
  }
};

Log::Log(LogOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Log::~Log() = default;

void Log::write(Level level, std::string_view event, std::initializer_list<Field> fields) {
  if (level >= impl_->options.level) impl_->write(level, event, fields, false);
}

void Log::audit(std::string_view action, std::initializer_list<Field> fields) {
  impl_->write(Level::info, action, fields, true);
}

}  // namespace dripgate::obs
