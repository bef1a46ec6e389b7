// ReplyReader: RESP2 bytes as they come, cut anywhere, into replies. hiredis' reader does the parsing. Pure.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "redis/reply.h"

struct redisReader;

namespace dripgate::redis {

/// Elements of one array; more is not Redis talking.
inline constexpr int kReplyItemsMax = 1 << 20;

/// A whole reply, or the words of an error reply ("WRONGTYPE Operation ..."), also of one inside of an array.
using Parsed = std::expected<Reply, std::string>;

class ReplyReader {
 public:
  ReplyReader();
  ~ReplyReader();
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  void feed(std::string_view bytes);
  /// Puts the next whole reply into `reply`; false: more bytes are needed. Errors: corrupt (not RESP2; the
  /// connection is of no more use).
  [[nodiscard]] Result<bool> next(Parsed& reply);
  /// For a new connection.
  void reset();

  struct Building;  // what hiredis' callbacks fill

 private:
  std::unique_ptr<Building> building_;
  redisReader* reader_ = nullptr;
};

}  // namespace dripgate::redis
