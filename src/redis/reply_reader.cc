// hiredis builds the reply through these functions, straight into a Reply: no tree of its own in between.
#include "redis/reply_reader.h"

#include <optional>
#include <utility>

#include <hiredis/read.h>

namespace dripgate::redis {

struct ReplyReader::Building {
  Reply root;
  std::optional<std::string> error;  // the first error reply in it
};

namespace {

using Building = ReplyReader::Building;

Reply* place(const redisReadTask* task) {
  if (task->parent == nullptr) return &static_cast<Building*>(task->privdata)->root;
  auto* parent = static_cast<Reply*>(task->parent->obj);
  return &std::get<std::vector<Reply>>(parent->value)[static_cast<std::size_t>(task->idx)];
}

void* make_string(const redisReadTask* task, char* text, std::size_t size) {
  Reply* reply = place(task);
  reply->value.emplace<std::string>(text, size);
  auto* building = static_cast<Building*>(task->privdata);
  if (task->type == REDIS_REPLY_ERROR && !building->error) building->error.emplace(text, size);
  return reply;
}

void* make_array(const redisReadTask* task, int count) {
  if (count > kReplyItemsMax) return nullptr;  // hiredis reports it; nothing may throw through its frames
  Reply* reply = place(task);
  reply->value.emplace<std::vector<Reply>>(static_cast<std::size_t>(count));
  return reply;
}

void* make_integer(const redisReadTask* task, long long number) {
  Reply* reply = place(task);
  reply->value = std::int64_t{number};
  return reply;
}

void* make_nil(const redisReadTask* task) {
  Reply* reply = place(task);
  reply->value = Nil{};
  return reply;
}

void free_nothing(void* /*reply*/) {}  // Building owns it

redisReplyObjectFunctions functions{.createString = make_string,
                                    .createArray = make_array,
                                    .createInteger = make_integer,
                                    .createNil = make_nil,
                                    .freeObject = free_nothing};

}  // namespace

ReplyReader::ReplyReader() : building_(std::make_unique<Building>()) {
  reset();
}

ReplyReader::~ReplyReader() {
  redisReaderFree(reader_);
}

void ReplyReader::reset() {
  if (reader_ != nullptr) redisReaderFree(reader_);
  *building_ = {};
  reader_ = redisReaderCreateWithFunctions(&functions);
  reader_->privdata = building_.get();
}

void ReplyReader::feed(std::string_view bytes) {
  redisReaderFeed(reader_, bytes.data(), bytes.size());
}

Result<bool> ReplyReader::next(Parsed& reply) {
  void* whole = nullptr;
  if (redisReaderGetReply(reader_, &whole) != REDIS_OK) {
    return fail(ErrorCode::corrupt, std::string("what came is not a Redis reply: ") + reader_->errstr);
  }
  if (whole == nullptr) return false;
  if (building_->error) {
    reply = std::unexpected(*std::exchange(building_->error, std::nullopt));
  } else {
    reply = std::move(building_->root);
  }
  building_->root = Reply{};
  return true;
}

}  // namespace dripgate::redis
