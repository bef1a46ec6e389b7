// Hot reload by message: processes with a file each on one real Redis, asked through `dripgate reload`, and
// what they say when that Redis goes away.
#include <csignal>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "integration/processes.h"
#include "support/redis/redis_server.h"

namespace dripgate::integration {
namespace {

using Json = nlohmann::json;

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

class RedisReload : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(processes.start()) << processes.up_log();
    write_file(worker_file, read_file(processes.config()));
    worker = std::make_unique<Process>(std::vector<std::string>{"worker", "-c", worker_file},
                                       processes.folder.path("worker"));
    ASSERT_TRUE(eventually([&] { return instances().size() == 2; })) << worker->err();
  }
  static StreamPlan plan(const testing::RedisServer& redis, const std::string& limits) {
    return {.limits = limits,
            .store = "{ redis: { url: \"redis://" + redis.address() + "\" } }",
            .source = "redis",
            .verb = "serve"};
  }
  Finished verb(std::vector<std::string> words) {
    words.insert(words.end(), {"-c", processes.config(), "--json"});
    return run(words, processes.folder.path("verb" + std::to_string(++verbs_)));
  }
  /// By part.
  std::map<std::string, Json> instances() {
    const Json answer = Json::parse(verb({"instances"}).out, nullptr, false);
    return answer.is_object() ? by_part(answer) : std::map<std::string, Json>{};
  }
  static std::map<std::string, Json> by_part(const Json& answer) {
    std::map<std::string, Json> all;
    for (const Json& instance : answer.value("instances", Json::array()))
      all[instance.value("part", std::string())] = instance;
    return all;
  }

  testing::RedisServer redis{{.lines = {"appendonly yes", "appendfsync always"}}};
  Processes processes{plan(redis, "[ { rps: 50 } ]")};
  std::string worker_file = processes.folder.path("worker.yaml");
  std::unique_ptr<Process> worker;

 private:
  int verbs_ = 0;
};

TEST_F(RedisReload, EveryProcessReadsItsFileAndSaysWhatItRuns) {
  const auto before = instances();
  processes.write_config(plan(redis, "[ { rps: 70 } ]"));
  write_file(worker_file, read_file(processes.config()));
  const Finished reload = verb({"reload", "--wait", "30s"});
  EXPECT_EQ(reload.code, 0) << reload.out << reload.err;
  const Json answer = Json::parse(reload.out);
  EXPECT_EQ(answer.at("reload"), 1);
  EXPECT_EQ(answer.at("done"), true);
  auto after = by_part(answer);
  ASSERT_EQ(after.size(), 2u) << reload.out;
  for (const char* part : {"serve", "worker"}) {
    EXPECT_EQ(after[part].at("reload"), 1) << part;
    EXPECT_NE(after[part].at("version"), before.at(part).at("version")) << part;
    EXPECT_GT(after[part].at("appliedAt"), before.at(part).at("appliedAt")) << part;
    EXPECT_TRUE(after[part].at("refused").is_null()) << part;
  }
  EXPECT_EQ(after["serve"].at("version"), after["worker"].at("version"));

  worker->signal(SIGTERM);
  EXPECT_EQ(worker->exit_code(), 0);
  EXPECT_EQ(instances().count("worker"), 0u) << "it took its report back";
}

TEST_F(RedisReload, AWrongFileKeepsTheLastGoodSetAndIsToldWithItsPlace) {
  const auto before = instances();
  processes.write_config(plan(redis, "[ { rps: 70 } ]"));
  write_file(worker_file, read_file(processes.config()) + "extra: 1\n");
  const Finished reload = verb({"reload", "--wait", "30s"});
  EXPECT_EQ(reload.code, 1) << reload.out << reload.err;
  auto after = by_part(Json::parse(reload.out));
  ASSERT_EQ(after.size(), 2u) << reload.out;
  EXPECT_TRUE(after["serve"].at("refused").is_null());
  EXPECT_NE(after["serve"].at("version"), before.at("serve").at("version"));
  EXPECT_EQ(after["worker"].at("version"), before.at("worker").at("version"));
  EXPECT_EQ(after["worker"].at("reload"), 1) << "it has looked";
  const auto refused = after["worker"].at("refused").get<std::string>();
  EXPECT_NE(refused.find("worker.yaml:"), std::string::npos) << refused;
  EXPECT_NE(refused.find("extra"), std::string::npos) << refused;
  // Asked with the broken file itself: what the file says of its Redis is enough.
  const Finished asked = run({"instances", "-c", worker_file, "--json"}, processes.folder.path("broken"));
  EXPECT_EQ(asked.code, 0);
  EXPECT_NE(asked.err.find("extra"), std::string::npos) << asked.err;
  EXPECT_EQ(by_part(Json::parse(asked.out)).size(), 2u) << asked.out;

  write_file(worker_file, read_file(processes.config()));
  EXPECT_EQ(verb({"reload", "--wait", "30s"}).code, 0);
}

// The number is changed as the verb does it, and the message is left out.
TEST_F(RedisReload, AMessageThatIsLostIsCaughtByThePoll) {
  ASSERT_EQ(redis.ask({"INCR", "{cfg}:reload"}), "1");
  EXPECT_TRUE(eventually([&] {
    auto now = instances();
    return now.size() == 2 && now["serve"].at("reload") == 1 && now["worker"].at("reload") == 1;
  })) << verb({"instances"}).out;
}

TEST_F(RedisReload, LossAndReturnOfRedisAreLoggedOnceByEveryProcess) {
  redis.kill();
  const auto both_say = [&](const std::string& what) {
    return eventually([&] { return count(processes.up_log(), what) > 0 && count(worker->err(), what) > 0; });
  };
  EXPECT_TRUE(both_say("redis is away")) << processes.up_log() << worker->err();
  redis.restart();
  EXPECT_TRUE(both_say("redis answers again")) << processes.up_log() << worker->err();
  for (const std::string& log : {processes.up_log(), worker->err()}) {
    EXPECT_EQ(count(log, "redis is away"), 1u) << log;
    EXPECT_EQ(count(log, "redis answers again"), 1u) << log;
  }
  EXPECT_TRUE(eventually([&] { return instances().size() == 2; })) << "the reports are there again";
}

TEST(Reload, NeedsARedis) {
  testing::ScratchFolder folder;
  const std::string file = folder.path("dripgate.yaml");
  write_file(file, "policies: [ { id: a, limit: 1, window: 60s, key: [ip], onStoreFailure: open } ]\n");
  for (const char* verb : {"reload", "instances"}) {
    const Finished done = run({verb, "-c", file}, folder.path(verb));
    EXPECT_EQ(done.code, 2);
    EXPECT_NE(done.err.find("store: { redis: ... }"), std::string::npos) << done.err;
  }
}

}  // namespace
}  // namespace dripgate::integration
