// AnswerReader over Beast's response_parser.
#include "http/answer_reader.h"

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "base/limits.h"
#include "http/byte_queue.h"

namespace dripgate::http {

namespace beast = boost::beast;
namespace bhttp = beast::http;
using Parser = bhttp::response_parser<bhttp::string_body>;
using beast::error_code;

namespace {

constexpr std::size_t kChunkedRestMin = 5;  // as in request_reader.cc
constexpr int kInterimAnswersMax = 8;       // 100 Continue, 103 Early Hints before the answer

}  // namespace

struct AnswerReader::Impl {
  bool head_only;
  std::size_t body_max;
  ByteQueue bytes;
  std::unique_ptr<Parser> parser;  // a parser reads one message
  std::size_t header_bytes = 0;
  int interim = 0;
  bool cut = false;  // the body is over its bound: what is here is the answer

  void begin() {
    parser = std::make_unique<Parser>();
    parser->header_limit(static_cast<std::uint32_t>(kAnswerHeaderBytesMax));
    parser->body_limit(body_max);
    parser->eager(true);
    parser->skip(head_only);
    header_bytes = 0;
  }

  [[nodiscard]] bool interim_answer() const {
    const unsigned status = parser->get().result_int();
    return parser->is_done() && status >= 100 && status < 200;
  }

  [[nodiscard]] bool too_short() const {
    const std::size_t waiting = bytes.waiting().size();
    return waiting == 0 || (parser->is_header_done() && parser->chunked() && waiting < kChunkedRestMin);
  }

  Result<bool> feed() {
    for (;;) {
      if (parser->is_done() && !interim_answer()) return true;
      if (parser->is_done()) {
        if (++interim > kInterimAnswersMax) return malformed("too many interim answers");
        begin();
      }
      if (too_short()) return false;
      const bool in_header = !parser->is_header_done();
      error_code ec;
      const std::string_view waiting = bytes.waiting();
      const std::size_t used = parser->put(boost::asio::buffer(waiting.data(), waiting.size()), ec);
      bytes.consumed(used);
      if (in_header && !parser->is_header_done()) header_bytes += used;
      if (header_bytes > kAnswerHeaderBytesMax) return malformed("its header is too large");
      if (ec == bhttp::error::body_limit) return cut = true;
      if (ec == bhttp::error::need_more) return waiting_within_bounds();
      if (ec) return malformed(ec.message());
    }
  }

  [[nodiscard]] Result<bool> waiting_within_bounds() const {
    if (bytes.waiting().size() > kAnswerHeaderBytesMax) return malformed("its header is too large");
    return false;
  }

  static std::unexpected<Error> malformed(const std::string& why) {
    return fail(ErrorCode::unavailable, "the answer is malformed: " + why, true);
  }
};

AnswerReader::AnswerReader(bool head_only, std::size_t body_bytes_max) : impl_(std::make_unique<Impl>()) {
  impl_->head_only = head_only;
  impl_->body_max = body_bytes_max;
  impl_->begin();
}
AnswerReader::~AnswerReader() = default;

std::span<char> AnswerReader::space() {
  return impl_->bytes.space();
}

Result<bool> AnswerReader::added(std::size_t bytes) {
  impl_->bytes.added(bytes);
  return impl_->feed();
}

Result<bool> AnswerReader::ended() {
  error_code ec = bhttp::error::partial_message;
  if (impl_->parser->got_some()) impl_->parser->put_eof(ec);
  if (ec) return fail(ErrorCode::unavailable, "the peer closed before its answer was complete", true);
  return true;
}

bool AnswerReader::keep_alive() const {
  return !impl_->cut && impl_->parser->keep_alive() && impl_->bytes.waiting().empty();
}

Response AnswerReader::take() {
  auto& message = impl_->parser->get();
  Response response{.status = static_cast<int>(message.result_int()), .headers = {}, .body = {}};
  for (const auto& field : message) response.headers.emplace_back(field.name_string(), field.value());
  response.body = std::move(message.body());
  return response;
}

}  // namespace dripgate::http
