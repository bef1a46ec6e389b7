// Identity: names that must be there once among the items of a list ("policy 'login'"). Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "config/fields.h"

namespace dripgate::config {

/// "policy 'login'" where the item has an id, else "policy 2".
[[nodiscard]] std::string label(std::string_view kind, const Node& item, std::size_t number);

/// Remembers values of one key and reports the second of each.
class Unique {
 public:
  /// `what` names the value: "policy id".
  Unique(std::string what, Report& report) : what_(std::move(what)), report_(report) {}
  /// False: it was there before.
  bool add(const std::string& value, Mark at);

 private:
  std::string what_;
  Report& report_;
  std::map<std::string, Mark, std::less<>> seen_;
};

}  // namespace dripgate::config
