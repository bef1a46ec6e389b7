// TaskDesk: see task_desk.h.
#include "app/task_desk.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "broker/gcp/channels.h"
#include "http/url.h"

namespace dripgate::app {
namespace {

constexpr const char* kHealthCause = "task tokens";

// Of Cache-Control: how long the keys stay good. Empty: it does not say.
std::optional<Duration> max_age(std::string_view cache_control) {
  constexpr std::string_view kName = "max-age=";
  const auto at = cache_control.find(kName);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view digits = cache_control.substr(at + kName.size());
  std::uint32_t seconds = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
  if (error != std::errc{}) return std::nullopt;
  return std::chrono::seconds{seconds};
}

}  // namespace

bool TaskDesk::needed(const config::Config& config) {
  return std::ranges::any_of(config.streams, [](const auto& s) { return s.cloud_tasks.has_value(); });
}

Result<void> TaskDesk::open(const config::Config& config, bool dispatches,
                            const config::Environment& environment) {
  const config::Gcp& gcp = *config.gcp;
  project_ = gcp.project;
  auto channel =
      broker::gcp::open_channel({gcp.cloud_tasks.target, gcp.cloud_tasks.plaintext}, 0, environment);
  if (!channel) return std::unexpected(channel.error());
  api_ = broker::cloud_tasks::make_tasks_api(*std::move(channel), context_.loop);
  if (!dispatches) return {};
  for (const config::StreamSettings& settings : config.streams) {
    if (!settings.cloud_tasks) continue;
    rules_[settings.stream->id] = {.issuer = gcp.token_issuer,
                                   .audience = settings.cloud_tasks->audience,
                                   .email = settings.cloud_tasks->service_account};
  }
  return open_keys(gcp.token_keys);
}

Result<void> TaskDesk::open_keys(const std::string& url) {
  auto origin = http::parse_url(url);
  if (!origin) return std::unexpected(origin.error());
  keys_target_ = origin->target;
  auto client = http::Client::make(context_.io, *origin, {.max_connections = 1});
  if (!client) return std::unexpected(client.error());
  keys_client_ = *std::move(client);
  keys_ = std::make_unique<auth::KeyRing>(
      context_.io, context_.clock, [this](Done<auth::FetchedKeys> done) { fetch(std::move(done)); },
      [this](const Error* error) { told(error); });
  context_.health.raise(kHealthCause, "the keys of the tokens' issuer are not fetched yet: " + url);
  return {};
}

void TaskDesk::start() {
  if (keys_ != nullptr) context_.io.post([this] { keys_->start(); });
}

void TaskDesk::fetch(Done<auth::FetchedKeys> done) {
  keys_client_->send(
      {.method = "GET",
       .target = keys_target_,
       .headers = {{"Accept", "application/json"}},
       .timeout = kKeysTimeout,
       .answer_bytes_max = kKeysBytesMax},
      [done = std::move(done)](Result<http::Response> response) mutable {
        if (!response) return done(std::unexpected(response.error()));
        if (response->status != 200) {
          return done(fail(ErrorCode::unavailable,
                           "the issuer's keys: HTTP " + std::to_string(response->status), true));
        }
        done(auth::FetchedKeys{.jwks = std::move(response->body),
                               .max_age = max_age(http::value_of(response->headers, "Cache-Control"))});
      });
}

void TaskDesk::told(const Error* error) {
  if (error == nullptr) return context_.health.clear(kHealthCause);
  context_.log.warn("the keys of the tokens' issuer could not be fetched", {{"detail", error->detail}});
}

std::unique_ptr<broker::Timer> TaskDesk::timer(const config::StreamSettings& settings,
                                               std::unique_ptr<broker::Claims> claims) {
  if (!settings.cloud_tasks) return nullptr;
  const config::CloudTasksTimer& tasks = *settings.cloud_tasks;
  auto timer = std::make_unique<broker::cloud_tasks::TasksTimer>(
      broker::cloud_tasks::Options{.project = project_,
                                   .location = tasks.location,
                                   .queues = tasks.queues,
                                   .target = tasks.target + "/v1/dispatch/" + settings.stream->id,
                                   .service_account = tasks.service_account,
                                   .audience = tasks.audience,
                                   .task_bytes_max = tasks.task_bytes_max,
                                   .claim_check = tasks.claim_check.has_value()},
      *api_, context_.loop, context_.clock, std::move(claims));
  timers_[settings.stream->id] = timer.get();
  return timer;
}

auth::TokenAnswer TaskDesk::admit(const std::string& stream, std::string_view authorization) {
  return keys_->check(authorization, rules_.at(stream));
}

void TaskDesk::fire(std::string stream, broker::TimerEntry entry,
                    std::move_only_function<void(broker::Receipt)> done) {
  context_.loop.post(
      [this, stream = std::move(stream), entry = std::move(entry), done = std::move(done)]() mutable {
        timers_.at(stream)->receive(std::move(entry), std::move(done));
      });
}

}  // namespace dripgate::app
