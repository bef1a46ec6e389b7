// Reading a message from a row.
#include "broker/sqlite/rows.h"

#include "broker/attribute_names.h"
#include "broker/attributes_codec.h"

namespace dripgate::broker::sqlite {

Message read_message(const dripgate::sqlite::Statement& row, int first_column) {
  Message message;
  message.id = row.bytes(first_column);
  message.published = from_us(row.integer(first_column + 1));
  if (auto attributes = decode_attributes(row.bytes(first_column + 2))) {
    message.attributes = std::move(*attributes);
  } else {
    set(message.attributes, kDamagedAttribute, "true");
  }
  message.body = row.bytes(first_column + 3);
  return message;
}

}  // namespace dripgate::broker::sqlite
