// Log: one line per happening, as text or JSON, with fields as name/value pairs. No payloads, no secrets.
// Thread-safe; a line is written before the call returns.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

namespace dripgate::obs {

enum class Level : std::uint8_t { debug, info, warn, error };

struct Field {
  std::string_view name;
  std::variant<std::string_view, std::int64_t, double, bool> value;

  Field(std::string_view n, std::string_view v) : name(n), value(v) {}
  Field(std::string_view n, const std::string& v) : name(n), value(std::string_view(v)) {}
  Field(std::string_view n, const char* v) : name(n), value(std::string_view(v)) {}
  Field(std::string_view n, bool v) : name(n), value(v) {}
  Field(std::string_view n, double v) : name(n), value(v) {}
  template <std::integral I>
  Field(std::string_view n, I v) : name(n), value(static_cast<std::int64_t>(v)) {}
};

struct LogOptions {
  bool json = false;
  Level level = Level::info;                    // lines below are dropped
  std::function<void(std::string_view)> write;  // takes whole lines; empty: standard error
};

class Log {
 public:
  explicit Log(LogOptions options = {});
  ~Log();

  /// `event` is a short fixed phrase ("config reloaded"); what varies goes into fields.
  void write(Level level, std::string_view event, std::initializer_list<Field> fields = {});
  void info(std::string_view event, std::initializer_list<Field> fields = {}) {
    write(Level::info, event, fields);
  }
  void warn(std::string_view event, std::initializer_list<Field> fields = {}) {
    write(Level::warn, event, fields);
  }
  void error(std::string_view event, std::initializer_list<Field> fields = {}) {
    write(Level::error, event, fields);
  }
  /// An operator changed something: written at every level, with audit=true.
  void audit(std::string_view action, std::initializer_list<Field> fields);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dripgate::obs
