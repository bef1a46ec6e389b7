// A StreamService that remembers what it was asked and answers what the test set; and a caller of the routes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "config/config.h"
#include "server/routes.h"

namespace dripgate::server::testing {

inline constexpr WallTime kNow{std::chrono::seconds{1'800'000'000}};  // 2027-01-15T08:00:00Z

struct FakeService final : StreamService {
  std::vector<std::string> ids{"payouts", "mails"};
  std::vector<std::string> calls;  // "freeze payouts merchant 1800000030"
  std::vector<IngestEvent> ingested;
  std::function<Result<std::vector<IngestAnswer>>(const std::vector<IngestEvent>&)> on_ingest;
  drip::PipelineStatus pipeline{};
  std::optional<Error> error;  // of every call
  std::map<std::uint64_t, broker::DeadLetter> letters;
  Readiness ready{};
  WallTime time = kNow;

  template <class T>
  void give(Done<T>& done, T value) {
    if (error) return done(std::unexpected(*error));
    done(std::move(value));
  }
  void give(Done<void>& done) {
    if (error) return done(std::unexpected(*error));
    done({});
  }
  static std::string seconds(WallTime t) { return std::to_string(to_us(t) / 1'000'000); }

  bool has_stream(const std::string& stream) const override {
    return std::ranges::find(ids, stream) != ids.end();
  }
  std::vector<std::string> streams() const override { return ids; }
  void ingest(std::string stream, std::vector<IngestEvent> events,
              Done<std::vector<IngestAnswer>> done) override {
    calls.push_back("ingest " + stream);
    ingested = events;
    if (error) return done(std::unexpected(*error));
    if (on_ingest) return done(on_ingest(events));
    std::vector<IngestAnswer> answers;
    for (const IngestEvent& event : events) {
      drip::EventVerdict verdict{.kind = drip::EventVerdict::Kind::now,
                                 .message_id = "m",
                                 .event_id = event.id,
                                 .key = "merchant_1:payout",
                                 .slot = kNow,
                                 .reason = {}};
      answers.push_back({.id = event.id.empty() ? "made" : event.id,
                         .verdict = verdict,
                         .accepted_only = false,
                         .error = {}});
    }
    done(std::move(answers));
  }
  void status(std::string stream, Done<drip::PipelineStatus> done) override {
    calls.push_back("status " + stream);
    give(done, pipeline);
  }
  void key_status(std::string stream, std::string key, Done<KeyStatus> done) override {
    calls.push_back("key " + stream + " " + key);
    KeyStatus status{.key = stream + ":" + key, .view = {}};
    status.view.now = kNow;
    status.view.pending = 7;
    status.view.next_slot = kNow + std::chrono::seconds{5};
    status.view.last_slot = kNow + std::chrono::seconds{4};
    status.view.released = {42};
    give(done, status);
  }
  void freeze(std::string stream, std::string key, WallTime until, Done<void> done) override {
    calls.push_back("freeze " + stream + " " + key + " " + seconds(until));
    give(done);
  }
  void thaw(std::string stream, std::string key, Done<void> done) override {
    calls.push_back("thaw " + stream + " " + key);
    give(done);
  }
  void reset(std::string stream, std::string key, Done<void> done) override {
    calls.push_back("reset " + stream + " " + key);
    give(done);
  }
  void pause(std::string stream, Done<void> done) override {
    calls.push_back("pause " + stream);
    give(done);
  }
  void resume(std::string stream, Done<void> done) override {
    calls.push_back("resume " + stream);
    give(done);
  }
  void dead_letters(std::string stream, std::uint64_t after, std::size_t count,
                    Done<broker::DeadLetterPage> done) override {
    calls.push_back("letters " + stream + " " + std::to_string(after) + " " + std::to_string(count));
    broker::DeadLetterPage page{.letters = {}, .total = letters.size()};
    for (auto it = letters.upper_bound(after); it != letters.end() && page.letters.size() < count; ++it)
      page.letters.push_back(it->second);
    give(done, page);
  }
  void dead_letter(std::string stream, std::uint64_t sequence,
                   Done<std::optional<broker::DeadLetter>> done) override {
    calls.push_back("letter " + stream + " " + std::to_string(sequence));
    const auto it = letters.find(sequence);
    give(done, it == letters.end() ? std::nullopt : std::optional(it->second));
  }
  void replay(std::string stream, drip::ReplayRequest request, Done<std::uint64_t> done) override {
    calls.push_back("replay " + stream + " " +
                    (request.sequence ? std::to_string(*request.sequence) : "all") + " " +
                    std::to_string(request.per_second));
    give(done, std::uint64_t{request.sequence ? letters.count(*request.sequence) : letters.size()});
  }
  void purge(std::string stream, std::optional<std::uint64_t> sequence, WallTime before,
             Done<std::uint64_t> done) override {
    calls.push_back("purge " + stream + " " +
                    (sequence ? std::to_string(*sequence) : "before " + seconds(before)));
    give(done, std::uint64_t{sequence ? letters.erase(*sequence) : letters.size()});
  }
  Readiness readiness() const override { return ready; }
  WallTime now() const override { return time; }
};

inline constexpr const char* kStreams = R"(
store: { memory: {} }
streams:
  - id: payouts
    source: { embedded: payouts }
    key: "merchant_{merchant_id}:payout"
    limits: [ { rpm: 100 } ]
    deliver: { topic: out }
    overflowTopic: payouts-overflow
    deadLetterTopic: payouts-dlq
  - id: mails
    source: { embedded: mails }
    eventId: "{mailId}"
    key: "{to}"
    limits: [ { rps: 5 } ]
    deliver: { topic: out2 }
    overflowTopic: mails-overflow
    deadLetterTopic: mails-dlq
)";

/// The routes over a fake, called as the server would call them.
struct Api {
  FakeService service;
  obs::Metrics metrics;
  std::vector<std::string> lines;
  obs::Log log{{.json = true, .write = [this](std::string_view line) { lines.emplace_back(line); }}};
  config::ConfigPtr config = load({});
  Routes routes =
      make_routes({.service = service, .config = [this] { return config; }, .metrics = metrics, .log = log});

  static config::ConfigPtr load(std::vector<config::Token> tokens, std::int64_t ingest_rate = 50'000) {
    auto loaded = config::parse(kStreams, "dripgate.yaml");
    if (!loaded.config) throw std::runtime_error(config::to_string(loaded.problems.at(0)));
    loaded.config->server.tokens = std::move(tokens);
    loaded.config->server.ingest_rate_max = ingest_rate;
    return std::make_shared<const config::Config>(std::move(*loaded.config));
  }

  static http::Request request(std::string method, std::string target, std::string body = "",
                               http::Headers headers = {}) {
    http::Request made{.method = std::move(method),
                       .target = std::move(target),
                       .headers = std::move(headers),
                       .body = std::move(body)};
    if (http::find(made.headers, "Host") == nullptr) made.headers.emplace_back("Host", "127.0.0.1:8080");
    made.peer = {.address = "127.0.0.1", .port = 4711, .loopback = true};
    return made;
  }
  http::Response call(http::Request what) {
    std::optional<http::Response> answer;
    routes.handler(std::move(what), [&](http::Response r) { answer = std::move(r); });
    return answer ? std::move(*answer) : http::Response{.status = 0};
  }
  http::Response call(std::string method, std::string target, std::string body = "",
                      http::Headers headers = {}) {
    return call(request(std::move(method), std::move(target), std::move(body), std::move(headers)));
  }
};

inline nlohmann::json json_of(const http::Response& response) {
  return nlohmann::json::parse(response.body, nullptr, false);
}

/// A problem document as RFC 9457 wants it, of that status.
inline void expect_problem(const http::Response& response, int status, const std::string& detail_part = "") {
  EXPECT_EQ(response.status, status) << response.body;
  EXPECT_EQ(*http::find(response.headers, "Content-Type"), "application/problem+json");
  const nlohmann::json body = json_of(response);
  EXPECT_TRUE(body["type"].is_string() && body["title"].is_string() && body["detail"].is_string())
      << response.body;
  EXPECT_EQ(body["status"], status);
  EXPECT_NE(body["detail"].get<std::string>().find(detail_part), std::string::npos) << response.body;
}

}  // namespace dripgate::server::testing
