// Reply: what Redis answered. An error reply never becomes a Reply: the client hands it on as an Error.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace dripgate::redis {

struct Nil {
  friend bool operator==(Nil, Nil) = default;
};

struct Reply {
  std::variant<Nil, std::int64_t, std::string, std::vector<Reply>> value;  // simple and bulk strings alike

  [[nodiscard]] bool is_nil() const { return std::holds_alternative<Nil>(value); }
  /// Null: it is of another kind.
  [[nodiscard]] const std::int64_t* integer() const { return std::get_if<std::int64_t>(&value); }
  [[nodiscard]] const std::string* text() const { return std::get_if<std::string>(&value); }
  [[nodiscard]] const std::vector<Reply>* items() const { return std::get_if<std::vector<Reply>>(&value); }
};

}  // namespace dripgate::redis
