// RequestReader over Beast's basic_parser: what it reads goes straight into our Request.
#include "http/request_reader.h"

#include <algorithm>
#include <optional>

#include <boost/beast/http/basic_parser.hpp>

#include "http/byte_queue.h"

namespace dripgate::http {

namespace beast = boost::beast;
namespace bhttp = beast::http;
using beast::error_code;

namespace {

// The shortest rest of a chunked body is "0\r\n\r\n". Beast's parser asserts that much after a final chunk
// header.
constexpr std::size_t kChunkedRestMin = 5;
constexpr std::size_t kHeadersUsual = 16;
constexpr std::size_t kBodyBytesReserved = 64u << 10;  // at most, on the word of a client

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

/// One message; another needs another.
class Parser final : public bhttp::basic_parser<true> {
 public:
  explicit Parser(Request& into) : request_(into) {}

  [[nodiscard]] int version() const { return version_; }
  [[nodiscard]] int transfer_encodings() const { return transfer_encodings_; }
  [[nodiscard]] bool chunked_alone() const { return chunked_alone_; }
  [[nodiscard]] int hosts() const { return hosts_; }

 private:
  void on_request_impl(bhttp::verb, beast::string_view method, beast::string_view target, int version,
                       error_code&) override {
    request_.method = method;
    request_.target = target;
    request_.headers.reserve(kHeadersUsual);
    version_ = version;
  }
  void on_field_impl(bhttp::field name, beast::string_view text, beast::string_view value,
                     error_code&) override {
    if (is_header_done()) return;  // a trailer
    request_.headers.emplace_back(text, value);
    if (name == bhttp::field::host) ++hosts_;
    if (name != bhttp::field::transfer_encoding) return;
    ++transfer_encodings_;
    chunked_alone_ = beast::iequals(value, "chunked");
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>& length, error_code&) override {
    if (length) request_.body.reserve(std::min<std::size_t>(*length, kBodyBytesReserved));
  }
  std::size_t on_body_impl(beast::string_view body, error_code&) override {
    request_.body.append(body.data(), body.size());
    return body.size();
  }
  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view body, error_code& ec) override {
    return on_body_impl(body, ec);
  }
  void on_chunk_header_impl(std::uint64_t, beast::string_view, error_code&) override {}
  void on_header_impl(error_code&) override {}
  void on_finish_impl(error_code&) override {}
  void on_response_impl(int, beast::string_view, int, error_code&) override {}

  Request& request_;
  int version_ = 11;
  int transfer_encodings_ = 0;
  bool chunked_alone_ = false;  // nothing but it in the last of them
  int hosts_ = 0;
};

}  // namespace

struct RequestReader::Impl {
  std::size_t header_max;
  std::size_t body_max;
  ByteQueue bytes;
  Request request;
  std::optional<Parser> parser;
  std::size_t header_bytes = 0;
  bool head_told = false;
  Refusal refusal;

  void begin() {
    request = {};
    parser.emplace(request);
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

  // A body whose length we and a proxy before us could see differently is refused, and one in a coding that
  // we do not undo: its bytes are not what was meant.
  [[nodiscard]] bool unreadable_body() const {
    if (parser->transfer_encodings() == 0) return false;
    return parser->transfer_encodings() > 1 || !parser->chunked_alone() || parser->version() < 11;
  }

  Step header_finished() {
    head_told = true;
    if (unreadable_body()) {
      return refused(refuse(400, "bad-request", "Transfer-Encoding: accepted is chunked, in HTTP/1.1"));
    }
    if (parser->hosts() > 1 || (parser->hosts() == 0 && parser->version() >= 11))
      return refused(refuse(400, "bad-request", "Host: accepted once, and HTTP/1.1 needs it"));
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
  return impl_->request.body.size();
}

Request& RequestReader::head() {
  return impl_->request;
}

bool RequestReader::expects_continue() const {
  const std::string* expect = find(impl_->request.headers, "Expect");
  return expect != nullptr && same_name(*expect, "100-continue") && impl_->bytes.waiting().empty() &&
         impl_->parser->version() >= 11;
}

bool RequestReader::keep_alive() const {
  return impl_->parser->keep_alive();
}

const RequestReader::Refusal& RequestReader::refusal() const {
  return impl_->refusal;
}

Request RequestReader::take() {
  Request request = std::move(impl_->request);
  impl_->begin();
  return request;
}

}  // namespace dripgate::http
