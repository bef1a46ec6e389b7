#include "cli/publish_run.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace dripgate::cli {
namespace {

bool is_not_now(int status) {
  return status == 429 || status == 503 || status == 507;
}

/// Refusals that no other batch would escape.
bool is_final(int status) {
  return status == 401 || status == 403 || status == 404;
}

Duration backoff(int attempt) {
  return std::min(kRetryWaitFirst * (1 << std::min(attempt, 10)), kRetryWaitMax);
}

Duration asked_wait(const http::Response& response, Duration otherwise) {
  const std::string* text = http::find(response.headers, "retry-after");
  std::int64_t seconds = 0;
  if (text == nullptr) return otherwise;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), seconds);
  if (error != std::errc{} || seconds < 0) return otherwise;
  return std::max(otherwise, Duration{std::chrono::seconds{std::min<std::int64_t>(seconds, 60)}});
}

}  // namespace

PublishRun::PublishRun(http::IoLoop& loop, http::Client& client, http::Headers headers, LineBatches& batches,
                       PublishPlan plan, Task finished)
    : loop_(loop),
      client_(client),
      headers_(std::move(headers)),
      batches_(batches),
      plan_(std::move(plan)),
      finished_(std::move(finished)) {}

void PublishRun::fill() {
  while (in_flight_ < plan_.concurrency) {
    auto batch = batches_.next();
    if (!batch) break;
    if (stopped_) {
      tally_.failed += batch->lines;
      continue;
    }
    ++in_flight_;
    send(std::make_shared<Sending>(std::move(*batch)));
  }
  if (in_flight_ == 0 && finished_) std::exchange(finished_, nullptr)();
}

void PublishRun::send(const SendingPtr& sending) {
  http::Call call;
  call.target = "/v1/streams/" + http::percent_encode(plan_.stream) + "/events";
  call.headers = headers_;
  call.headers.emplace_back("Content-Type", "application/x-ndjson");
  call.headers.emplace_back("Dripgate-Id", fmt::format("{}-{}", plan_.id_prefix, sending->batch.number));
  call.body = sending->batch.body;
  call.timeout = plan_.timeout;
  client_.send(std::move(call),
               [this, sending](Result<http::Response> answer) { answered(sending, std::move(answer)); });
}

void PublishRun::answered(const SendingPtr& sending, Result<http::Response> answer) {
  const Duration wait = backoff(sending->attempt);
  if (!answer) return again(sending, wait, answer.error().detail);
  reached_ = true;
  if (is_not_now(answer->status)) return again(sending, asked_wait(*answer, wait), refusal(*answer));
  stopped_ |= is_final(answer->status);
  if (answer->status / 100 != 2 || !add_answer(answer->body, tally_))
    return give_up(sending, refusal(*answer));
  next();
}

void PublishRun::again(const SendingPtr& sending, Duration wait, std::string fault) {
  const int most = reached_ ? plan_.retries : std::min(plan_.retries, kFirstContactRetries);
  if (stopped_ || sending->attempt++ >= most) {
    stopped_ = true;
    return give_up(sending, std::move(fault));
  }
  ++tally_.retries;
  loop_.post_after(wait, [this, sending] { send(sending); });
}

void PublishRun::give_up(const SendingPtr& sending, std::string fault) {
  tally_.failed += sending->batch.lines;
  if (tally_.first_fault.empty()) tally_.first_fault = std::move(fault);
  next();
}

void PublishRun::next() {
  --in_flight_;
  fill();
}

}  // namespace dripgate::cli
