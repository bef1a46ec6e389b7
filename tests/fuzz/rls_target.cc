// A rate limit call of any bytes, from the message to the message: one status per descriptor, codes that
// agree, headers and body that a client can read, nothing spent by a refusal.
//
// Input: the message in its bytes; or, for seeds that a person can read, in protobuf's text form behind
// "text\n".
#include <algorithm>
#include <string>

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>
#include <nlohmann/json.hpp>

#include "envoy/service/ratelimit/v3/rls.pb.h"
#include "fuzz/gate.h"
#include "fuzz/structured_fields.h"
#include "rls/grpc/messages.h"

namespace dripgate::fuzz {
namespace {

using envoy::service::ratelimit::v3::RateLimitRequest;
using envoy::service::ratelimit::v3::RateLimitResponse;

constexpr std::string_view kText = "text\n";

class Silent final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int /*line*/, int /*column*/, const std::string& /*message*/) override {}
};

bool read_message(std::string_view input, RateLimitRequest& message) {
  if (!input.starts_with(kText)) return message.ParseFromArray(input.data(), static_cast<int>(input.size()));
  Silent silent;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&silent);
  parser.SetRecursionLimit(8);
  return parser.ParseFromString(std::string(input.substr(kText.size())), &message);
}

void require_readable(const RateLimitResponse& response) {
  for (const auto& header : response.response_headers_to_add()) {
    const std::string& value = header.value();
    require(std::ranges::all_of(value, [](char c) { return c >= 0x20 && c < 0x7f; }), "a header is printable",
            value);
    if (header.key().starts_with("RateLimit"))
      require(FieldReader(value).list().has_value(), "a structured field is one", value);
  }
  const bool refused = response.overall_code() == RateLimitResponse::OVER_LIMIT;
  require(refused == !response.raw_body().empty(), "a refusal has a document, an allow has none");
  require(!refused || nlohmann::json::accept(response.raw_body()), "the document is JSON",
          response.raw_body());
  RateLimitResponse again;
  require(again.ParseFromString(response.SerializeAsString()), "the answer is a message");
}

std::optional<RateLimitResponse> answer(Gate& gate, const RateLimitRequest& message) {
  auto requests = rls::read_request(message);
  if (!requests) {
    require(requests.error().code == ErrorCode::invalid_argument && !requests.error().detail.empty(),
            "a refused message is the caller's fault");
    return std::nullopt;
  }
  std::optional<RateLimitResponse> response;
  bool answered = false;
  rls::ask_all(gate, *std::move(requests), [&](Result<rls::Answers> answers) {
    answered = true;
    if (!answers)
      return require(answers.error().code == ErrorCode::invalid_argument, "only a wrong call fails");
    rls::write_response(*answers, true, response.emplace());
  });
  require(answered, "a call is answered");
  return response;
}

void run(std::string_view input) {
  static Gate gate;
  gate.next_input();
  RateLimitRequest message;
  if (!read_message(input, message)) return;
  const auto first = answer(gate, message);
  if (!first) return;
  require(first->statuses_size() == message.descriptors_size(), "every descriptor has its status");
  const bool all =
      std::ranges::all_of(first->statuses(), [](const auto& s) { return s.code() == RateLimitResponse::OK; });
  require(all == (first->overall_code() == RateLimitResponse::OK), "the whole allows if all do");
  require_readable(*first);
  if (all) return;
  // A refusal spends nothing: the same call a second time hears the same.
  const auto second = answer(gate, message);
  require(second && second->overall_code() == RateLimitResponse::OVER_LIMIT, "a refused call stays refused");
  for (int i = 0; i < second->statuses_size(); ++i)
    require(second->statuses(i).code() == first->statuses(i).code(), "a refused call has spent nothing");
}

}  // namespace
}  // namespace dripgate::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dripgate::fuzz::run(dripgate::fuzz::text_of(data, size));
  return 0;
}
