// RequestReader over Beast's request_parser.
#include "http/request_reader.h"

#include <optional>

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "http/byte_queue.h"

namespace dripgate::http {

namespace beast = boost::beast;
namespace bhttp = beast::http;
using Parser = bhttp::request_parser<bhttp::string_body>;
using beast::error_code;

namespace {

// The shortest rest of a chunked body is "0\r\n\r\n". Beast's parser asserts that much after a final chunk
// header.
constexpr std::size_t kChunkedRestMin = 5;
constexpr std::size_t kHeadersUsual = 16;

RequestReader::Refusal refuse(int status, std::string_view kind, std::string detail) {
  return {.status = status, .kind = kind, .detail = std::move(detail)};
}

RequestReader::Refusal translate(const error_code& ec, std::size_t header_max, std::size_t body_max) {
  if (ec == bhttp::error::header_limit) {
    return refuse(431, "header-too-large",
                  "request line and headers are over " + std::to_string(header_max) + " bytes");
  }
  if (ec == bhttp::error::body_limit) {
    return refuse(413, "body-too-large", "the body is over " + std::to_string(body_max) + " bytes");
  }
  if (ec == bhttp::error::bad_version) return refuse(505, "http-version", "accepted: HTTP/1.1 and HTTP/1.0");
  return refuse(400, "bad-request", "malformed HTTP: " + ec.message());
}

Request to_request(const Parser& parser) {
  const auto& message = parser.get();
  Request request{.method = std::string(message.method_string()),
                  .target = std::string(message.target()),
                  .headers = {},
                  .body = {},
                  .peer = {}};
  request.headers.reserve(kHeadersUsual);
  for (const auto& field : message) request.headers.emplace_back(field.name_string(), field.value());
  return request;
}

}  // namespace

struct RequestReader::Impl {
  std::size_t header_max;
  std::size_t body_max;
  ByteQueue bytes;
  std::unique_ptr<Parser> parser;  // a parser reads one message
  std::size_t header_bytes = 0;
  Request head;
  bool head_told = false;
  Refusal refusal;

  void begin() {
    parser = std::make_unique<Parser>();
    parser->header_limit(static_cast<std::uint32_t>(header_max));
    parser->body_limit(body_max);
    parser->eager(false);
    header_bytes = 0;
    head_told = false;
  }

  Step refused(Refusal why) {
    refusal = std::move(why);
    return Step::refused;
  }

  [[nodiscard]] bool chunked_rest_too_short() const {
    return parser->is_header_done() && parser->chunked() && bytes.waiting().size() < kChunkedRestMin;
  }

  // Feeds what is here. Beast counts each header line against its limit but not their sum: we count the sum.
  std::optional<Step> feed() {
    const std::string_view waiting = bytes.waiting();
    if (waiting.empty() || chunked_rest_too_short()) return Step::need_bytes;
    const bool in_header = !parser->is_header_done();
    error_code ec;
    const std::size_t used = parser->put(boost::asio::buffer(waiting.data(), waiting.size()), ec);
    bytes.consumed(used);
    if (in_header) header_bytes += used;
    if (in_header && header_bytes > header_max) ec = bhttp::error::header_limit;
    if (ec == bhttp::error::need_more) {
      if (bytes.waiting().size() > header_max)
        return refused(translate(bhttp::error::header_limit, header_max, body_max));
      return Step::need_bytes;
    }
    if (ec) return refused(translate(ec, header_max, body_max));
    return std::nullopt;
  }

  // A body whose length we and a proxy before us could see differently is refused.
  [[nodiscard]] bool ambiguous_length() const {
    const auto& message = parser->get();
    if (message.find(bhttp::field::transfer_encoding) == message.end()) return false;
    return !parser->chunked() || message.version() < 11;
  }

  Step header_finished() {
    head = to_request(*parser);
    head_told = true;
    if (ambiguous_length()) {
      return refused(refuse(400, "bad-request", "Transfer-Encoding: accepted is chunked, in HTTP/1.1"));
    }
    parser->eager(true);
    if (parser->is_done()) return Step::complete;
    return Step::head;
  }
};

RequestReader::RequestReader(std::size_t header_bytes_max, std::size_t body_bytes_max)
    : impl_(std::make_unique<Impl>()) {
  impl_->header_max = header_bytes_max;
  impl_->body_max = body_bytes_max;
  impl_->begin();
}
RequestReader::~RequestReader() = default;

std::span<char> RequestReader::space() {
  return impl_->bytes.space();
}

void RequestReader::added(std::size_t bytes) {
  impl_->bytes.added(bytes);
}

RequestReader::Step RequestReader::advance() {
  Impl& in = *impl_;
  for (;;) {
    if (in.parser->is_done()) return in.head_told ? Step::complete : in.header_finished();
    if (in.parser->is_header_done() && !in.head_told) return in.header_finished();
    if (const auto step = in.feed()) return *step;
  }
}

bool RequestReader::begun() const {
  return impl_->parser->got_some() || !impl_->bytes.waiting().empty();
}

bool RequestReader::in_body() const {
  return impl_->parser->is_header_done();
}

std::size_t RequestReader::body_bytes() const {
  return impl_->parser->get().body().size();
}

const Request& RequestReader::head() const {
  return impl_->head;
}

bool RequestReader::expects_continue() const {
  const std::string* expect = find(impl_->head.headers, "Expect");
  return expect != nullptr && same_name(*expect, "100-continue") && impl_->bytes.waiting().empty() &&
         impl_->parser->get().version() >= 11;
}

bool RequestReader::keep_alive() const {
  return impl_->parser->keep_alive();
}

const RequestReader::Refusal& RequestReader::refusal() const {
  return impl_->refusal;
}

Request RequestReader::take() {
  Request request = std::move(impl_->head);
  request.body = std::move(impl_->parser->get().body());
  impl_->begin();
  return request;
}

}  // namespace dripgate::http
