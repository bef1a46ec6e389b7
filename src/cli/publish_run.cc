#include "cli/publish_run.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "broker/attribute_names.h"
#include "cli/console.h"

namespace dripgate::cli {
namespace {

/// Busy, restarting, full: the same request can succeed later, and if it had, its ids make it one.
bool is_not_now(int status) {
  return status == 429 || status >= 500;
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

std::uint64_t* counter_of(const std::string& verdict, Tally& tally) {
  if (verdict == "now") return &tally.now;
  if (verdict == "scheduled") return &tally.scheduled;
  if (verdict == "dead_letter") return &tally.dead_letter;
  if (verdict == "accepted") return &tally.accepted;
  return nullptr;
}

/// One line of the answer: what became of one event. False: not such a line.
bool add_line(const nlohmann::json& line, Tally& tally) {
  if (!line.is_object()) return false;
  if (line.contains("error")) {
    const int status = line.value("status", 0);
    ++(status == 409 ? tally.conflict : tally.failed);
    if (tally.first_fault.empty()) tally.first_fault = printable(line.value("error", std::string()));
    return true;
  }
  if (line.value("duplicate", false)) return ++tally.duplicate > 0;
  std::uint64_t* counter = counter_of(line.value("verdict", std::string()), tally);
  return counter != nullptr && ++*counter > 0;
}

/// A line that was refused for now: the whole batch goes again, under the same ids.
bool has_line_for_later(const std::string& body) {
  std::istringstream lines(body);
  for (std::string text; std::getline(lines, text);) {
    const auto line = nlohmann::json::parse(text, nullptr, false);
    if (line.is_object() && line.contains("status") && is_not_now(line.value("status", 0))) return true;
  }
  return false;
}

}  // namespace

bool add_answer(const std::string& body, std::size_t events, Tally& tally) {
  std::istringstream lines(body);
  Tally sum = tally;
  for (std::string text; std::getline(lines, text); --events) {
    if (events == 0 || !add_line(nlohmann::json::parse(text, nullptr, false), sum)) return false;
  }
  if (events != 0) return false;
  tally = std::move(sum);
  return true;
}

PublishRun::PublishRun(net::IoLoop& loop, http::Client& client, http::Headers headers, LineBatches& batches,
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
  call.headers.emplace_back(broker::kIdAttribute,
                            fmt::format("{}-{}", plan_.id_prefix, sending->batch.number));
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
  if (answer->status != 202) {
    stopped_ |= is_final(answer->status);
    return give_up(sending, refusal(*answer));
  }
  if (sending->attempt < plan_.retries && has_line_for_later(answer->body)) {
    return again(sending, wait, "some lines were refused for now");
  }
  if (!add_answer(answer->body, sending->batch.lines, tally_)) {
    return give_up(sending, "the answer does not tell what became of each event");
  }
  next();
}

void PublishRun::again(const SendingPtr& sending, Duration wait, std::string fault) {
  const int most = reached_ ? plan_.retries : plan_.first_contact_retries;
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
