// A message as four columns: id, published, attributes, body, in this order. Used by every part of the
// broker.
#pragma once

#include "broker/message.h"
#include "sqlite/statement.h"

namespace dripgate::broker::sqlite {

[[nodiscard]] Message read_message(const dripgate::sqlite::Statement& row, int first_column);

}  // namespace dripgate::broker::sqlite
