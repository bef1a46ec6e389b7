#include "app/fleet.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "app/lua/texts.h"
#include "redis/make_client.h"
#include "runtime/redis_options.h"

namespace dripgate::app {
namespace {

constexpr Duration kLook = 1s;  // how long the loop runs before it is looked at again

const redis::Script& reports_script() {
  static const redis::Script script{lua::config_reports};
  return script;
}

Error unreadable() {
  return {.code = ErrorCode::corrupt, .detail = "the reports of the instances have another form"};
}

Result<std::vector<ConfigReport>> reports_in(const redis::Reply& reply) {
  const auto* items = reply.items();
  if (items == nullptr || items->size() % 3 != 0) return std::unexpected(unreadable());
  std::vector<ConfigReport> reports;
  for (std::size_t i = 0; i < items->size(); i += 3) {
    const std::string *instance = (*items)[i].text(), *text = (*items)[i + 2].text();
    const std::int64_t* age_ms = (*items)[i + 1].integer();
    if (instance == nullptr || age_ms == nullptr || text == nullptr) return std::unexpected(unreadable());
    auto report = read_config_report(*instance, *age_ms * 1ms, *text);
    if (!report) return std::unexpected(std::move(report.error()));
    reports.push_back(std::move(*report));
  }
  std::ranges::sort(reports, {}, &ConfigReport::instance);
  return reports;
}

}  // namespace

Result<std::unique_ptr<Fleet>> Fleet::make(const config::RedisStore& store) {
  std::unique_ptr<Fleet> fleet(new Fleet(store.key_prefix));
  auto client = redis::make_client(fleet->loop_, runtime::redis_options(store));
  if (!client) return std::unexpected(std::move(client.error()));
  fleet->client_ = std::move(*client);
  return fleet;
}

Result<redis::Reply> Fleet::wait_for(std::move_only_function<void(Done<redis::Reply>)> begin) {
  std::optional<Result<redis::Reply>> answer;
  begin([&](Result<redis::Reply> given) {
    answer = std::move(given);
    loop_.stop();
  });
  while (!answer) loop_.run_for(kLook);
  return std::move(*answer);
}

Result<std::int64_t> Fleet::ask_reload() {
  const auto counted = wait_for([this](Done<redis::Reply> done) {
    const std::array<std::string_view, 2> words{"INCR", keys_.reload};
    client_->command(keys_.reload, words, std::move(done));
  });
  if (!counted) return std::unexpected(counted.error());
  const std::int64_t* number = counted->integer();
  if (number == nullptr) return std::unexpected(unreadable());
  return *number;
}

Result<void> Fleet::tell(std::int64_t number) {
  const auto told = wait_for([this, text = std::to_string(number)](Done<redis::Reply> done) {
    const std::array<std::string_view, 3> words{"PUBLISH", keys_.reload, text};
    client_->command(keys_.reload, words, std::move(done));
  });
  if (!told) return std::unexpected(told.error());
  return {};
}

Result<std::vector<ConfigReport>> Fleet::instances() {
  const auto reply = wait_for([this](Done<redis::Reply> done) {
    const std::string kept = std::to_string(kConfigReportKept / 1ms);
    const std::array<std::string_view, 2> keys{keys_.seen, keys_.reports};
    const std::array<std::string_view, 1> arguments{kept};
    client_->run(reports_script(), keys, arguments, std::move(done));
  });
  if (!reply) return std::unexpected(reply.error());
  return reports_in(*reply);
}

}  // namespace dripgate::app
