// CallMessages: question and answer of one call, each a tree of small messages, in one piece of memory that
// goes with the call. Without it each part is an allocation of its own.
#pragma once

#include <array>
#include <cstddef>

#include <google/protobuf/arena.h>
#include <grpcpp/support/message_allocator.h>

#include "envoy/service/ratelimit/v3/rls.pb.h"

namespace dripgate::rls {

/// Most calls of one descriptor fit; a larger one takes more, piece by piece.
inline constexpr std::size_t kCallBytesUsual = 2048;

/// Thread-safe. Outlives the server.
class CallMessages final : public grpc::MessageAllocator<envoy::service::ratelimit::v3::RateLimitRequest,
                                                         envoy::service::ratelimit::v3::RateLimitResponse> {
 public:
  using Request = envoy::service::ratelimit::v3::RateLimitRequest;
  using Response = envoy::service::ratelimit::v3::RateLimitResponse;

  grpc::MessageHolder<Request, Response>* AllocateMessages() override { return new Held; }

 private:
  class Held final : public grpc::MessageHolder<Request, Response> {
   public:
    Held() : arena_(usual_.data(), usual_.size()) {
      set_request(google::protobuf::Arena::CreateMessage<Request>(&arena_));
      set_response(google::protobuf::Arena::CreateMessage<Response>(&arena_));
    }
    void Release() override { delete this; }

   private:
    alignas(std::max_align_t) std::array<char, kCallBytesUsual> usual_;
    google::protobuf::Arena arena_;  // in `usual_` as long as that suffices
  };
};

}  // namespace dripgate::rls
