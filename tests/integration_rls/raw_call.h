// Calls of gRPC methods whose message classes we do not have (health, reflection), in bytes.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include "integration/process.h"

namespace dripgate::integration {

/// One message of a method, its first answer, and the stream stays open until this is gone.
class OpenStream {
 public:
  OpenStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
             const std::string& message)
      : stub_(channel) {
    context_.set_deadline(std::chrono::system_clock::now() + kPatience);
    stream_ = stub_.PrepareCall(&context_, method, &queue_);
    const grpc::Slice slice(message);
    grpc::ByteBuffer answer;
    stream_->StartCall(nullptr);
    fine_ = wait();
    if (fine_) {
      stream_->Write(grpc::ByteBuffer(&slice, 1), nullptr);
      fine_ = wait();
    }
    if (fine_) {
      stream_->Read(&answer, nullptr);
      fine_ = wait();
    }
    if (fine_) answer_ = text_of(answer);
  }
  ~OpenStream() { (void)end(); }
  OpenStream(const OpenStream&) = delete;
  OpenStream& operator=(const OpenStream&) = delete;

  /// The answer, or "failed: " and why.
  [[nodiscard]] std::string end() {
    if (ended_) return {};
    ended_ = true;
    context_.TryCancel();
    grpc::Status status;
    stream_->Finish(&status, nullptr);
    (void)wait();
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) continue;
    return fine_ ? answer_ : "failed: " + status.error_message();
  }

 private:
  bool wait() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }
  static std::string text_of(const grpc::ByteBuffer& buffer) {
    std::vector<grpc::Slice> slices;
    if (!buffer.Dump(&slices).ok()) return {};
    std::string text;
    for (const grpc::Slice& slice : slices)
      text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    return text;
  }

  grpc::GenericStub stub_;
  grpc::CompletionQueue queue_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  std::string answer_;
  bool fine_ = false;
  bool ended_ = false;
};

inline std::string call_raw(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                            const std::string& message) {
  return OpenStream(channel, method, message).end();
}

}  // namespace dripgate::integration
