// Hot reload: the three ways a file changes, what only a restart changes, and that the last good set stays.
#include "config/snapshot.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "config/match.h"

namespace dripgate::config {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string document(int limit, const std::string& more = "") {
  return "policies:\n  - { id: P1, key: [tenant], limit: " + std::to_string(limit) +
         ", window: 1m, onStoreFailure: closed }\n  - { id: P2, limit: 9, window: 1m, onStoreFailure: open, "
         "scope: "
         "tenant }\n" +
         more;
}

std::string streams(const std::string& first = "a", const std::string& extra = "") {
  return "store: { sqlite: x.db }\nstreams:\n  - { id: " + first +
         ", source: { embedded: in }, key: \"{m}\", limits: [ { rpm: 1 } ], deliver: { topic: out } " +
         extra + " }\n";
}

class Reload : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ("reload_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    file_ = (folder_ / "dripgate.yaml").string();
  }
  void write(const std::string& text) const { std::ofstream(file_) << text; }
  [[nodiscard]] ConfigPtr loaded(const Environment& environment = {}) const {
    auto result = load(file_, environment);
    EXPECT_TRUE(result.config) << to_string(result.problems.at(0));
    return std::make_shared<const Config>(result.config.value_or(Config{}));
  }
  [[nodiscard]] static core::Units limit(const Snapshot& snapshot) {
    return snapshot.get()->policies.at(0)->limits.at(0).limit;
  }
  [[nodiscard]] std::vector<std::string> refusal(const std::string& before, const std::string& after) const {
    write(before);
    Snapshot snapshot(loaded());
    const auto running = snapshot.get();
    write(after);
    const auto result = snapshot.reload();
    EXPECT_EQ(snapshot.get(), running);
    EXPECT_TRUE(result.refused);
    std::vector<std::string> lines;
    for (const Problem& problem : result.problems) {
      lines.push_back(to_string(problem).substr(problem.file.size() + 1));
    }
    return lines;
  }

  fs::path folder_;
  std::string file_;
};

TEST_F(Reload, ChangesNothingWhileTheFileStays) {
  write(document(5));
  Snapshot snapshot(loaded());
  const auto running = snapshot.get();
  for (int i = 0; i < 5; ++i) {
    const auto result = snapshot.reload();
    EXPECT_FALSE(result.changed);
    EXPECT_FALSE(result.refused);
  }
  EXPECT_EQ(snapshot.get(), running);
}

TEST_F(Reload, SeesAFileWrittenInPlace) {
  write(document(5));
  Snapshot snapshot(loaded());
  write(document(77));
  EXPECT_TRUE(snapshot.reload().changed);
  EXPECT_EQ(limit(snapshot), 77);
  EXPECT_FALSE(snapshot.reload().changed);
}

TEST_F(Reload, SeesAFileRenamedOver) {
  write(document(5));
  Snapshot snapshot(loaded());
  ASSERT_FALSE(snapshot.reload().changed);
  std::ofstream(folder_ / "next") << document(7);
  fs::rename(folder_ / "next", file_);
  EXPECT_TRUE(snapshot.reload().changed);
  EXPECT_EQ(limit(snapshot), 7);
}

TEST_F(Reload, SeesASwappedSymlinkAsAMountedConfigMapDoes) {
  // dripgate.yaml -> ..data/dripgate.yaml, ..data -> ..v1, swapped by a rename of ..data.
  for (const char* version : {"..v1", "..v2"}) fs::create_directory(folder_ / version);
  std::ofstream(folder_ / "..v1" / "dripgate.yaml") << document(5);
  std::ofstream(folder_ / "..v2" / "dripgate.yaml") << document(7);
  fs::create_symlink("..v1", folder_ / "..data");
  fs::create_symlink("..data/dripgate.yaml", file_);
  Snapshot snapshot(loaded());
  ASSERT_FALSE(snapshot.reload().changed);
  fs::create_symlink("..v2", folder_ / "..tmp");
  fs::rename(folder_ / "..tmp", folder_ / "..data");
  EXPECT_TRUE(snapshot.reload().changed);
  EXPECT_EQ(limit(snapshot), 7);
}

TEST_F(Reload, SeesASecondWriteOfTheSameSizeWithinOneClockTick) {
  write(document(5));
  Snapshot snapshot(loaded());
  // The worst case: size and modification time are those of the set in force.
  struct stat before{};
  ASSERT_EQ(::stat(file_.c_str(), &before), 0);
  ASSERT_FALSE(snapshot.reload().changed);
  write(document(7));
  const timespec times[] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, file_.c_str(), times, 0), 0);
  EXPECT_TRUE(snapshot.reload().changed);
  EXPECT_EQ(limit(snapshot), 7);
}

TEST_F(Reload, KeepsTheLastGoodSetAndSaysSoOnce) {
  write(document(5));
  Snapshot snapshot(loaded());
  const auto running = snapshot.get();
  write("policies: [ { id: P1, limt: 5 } ]\n");
  const auto first = snapshot.reload();
  EXPECT_TRUE(first.refused);
  EXPECT_FALSE(first.repeated);
  EXPECT_FALSE(first.problems.empty());
  for (int i = 0; i < 4; ++i) {
    const auto again = snapshot.reload();
    EXPECT_TRUE(again.refused);
    EXPECT_TRUE(again.repeated);
    EXPECT_EQ(again.problems.size(), first.problems.size());
  }
  EXPECT_EQ(snapshot.get(), running);
  // Another bad file is news; the old good bytes are no change, and no longer bad.
  write("hello\n");
  EXPECT_FALSE(snapshot.reload().repeated);
  write(document(5));
  const auto back = snapshot.reload();
  EXPECT_FALSE(back.refused);
  EXPECT_FALSE(back.changed);
  write(document(7));
  EXPECT_TRUE(snapshot.reload().changed);
  EXPECT_EQ(limit(snapshot), 7);
}

TEST_F(Reload, SurvivesAFileThatIsGone) {
  write(document(5));
  Snapshot snapshot(loaded());
  fs::remove(file_);
  const auto gone = snapshot.reload();
  EXPECT_TRUE(gone.refused);
  EXPECT_THAT(gone.problems.at(0).message, HasSubstr("cannot be read: No such file"));
  EXPECT_EQ(limit(snapshot), 5);
  write(document(7));
  EXPECT_TRUE(snapshot.reload().changed);
}

TEST_F(Reload, GivesAReaderOneWholeSet) {
  write(document(5));
  Snapshot snapshot(loaded());
  const auto held = snapshot.get();
  write(document(7));
  ASSERT_TRUE(snapshot.reload().changed);
  EXPECT_EQ(held->policies.at(0)->limits.at(0).limit, 5);
  EXPECT_EQ(held->matcher->match({}).size(), 2u);
}

TEST_F(Reload, IsSafeBesideReaders) {
  write(document(5));
  Snapshot snapshot(loaded());
  std::atomic<bool> stop = false;
  std::jthread reader([&] {
    while (!stop) {
      const auto config = snapshot.get();
      ASSERT_EQ(config->policies.size(), 2u);
      ASSERT_EQ(config->matcher->match({}).size(), 2u);
    }
  });
  for (int i = 1; i <= 200; ++i) {
    write(document(i + 1000));
    EXPECT_TRUE(snapshot.reload().changed);
  }
  stop = true;
}

TEST_F(Reload, RefusesWhatOnlyARestartCanChange) {
  EXPECT_THAT(refusal(streams(), "store: { sqlite: y.db }\n" + streams().substr(24)),
              ElementsAre("1:1: another store needs a restart; the running set stays as it is"));
  EXPECT_THAT(refusal(streams(), streams() + "server: { listen: \"127.0.0.1:9\" }\n"),
              ElementsAre("4:1: another server.listen needs a restart; the running set stays as it is"));
  EXPECT_THAT(refusal(streams(), streams() + "server: { tls: { cert: c, key: k } }\n"),
              ElementsAre("4:1: another server.tls needs a restart; the running set stays as it is"));
  EXPECT_THAT(refusal(streams("a"), streams("b")),
              ElementsAre("2:1: removing stream 'a' needs a restart; the running set stays as it is",
                          "3:5: adding stream 'b' needs a restart; the running set stays as it is"));
  const auto changed = [](const std::string& what) {
    return ElementsAre("3:5: another " + what +
                       " of stream 'a' needs a restart; the running set stays as it is");
  };
  std::string source = streams();
  source.replace(source.find("embedded: in"), 12, "embedded: on");
  EXPECT_THAT(refusal(streams(), source), changed("source"));
  std::string sink = streams();
  sink.replace(sink.find("topic: out"), 10, "topic: off");
  EXPECT_THAT(refusal(streams(), sink), changed("deliver"));
  EXPECT_THAT(refusal(streams(), streams("a", ", overflowTopic: o")), changed("overflowTopic"));
  EXPECT_THAT(refusal(streams(), streams("a", ", deadLetterTopic: d")), changed("deadLetterTopic"));
  EXPECT_THAT(refusal(streams(), streams("a", ", maxOutstandingMessages: 7")),
              changed("maxOutstandingMessages"));
  EXPECT_THAT(refusal(streams(), streams("a", ", maxOutstandingBytes: 2MiB")),
              changed("maxOutstandingBytes"));
}

TEST_F(Reload, ChangesTheNumbersOfAStreamAtOnce) {
  write(streams());
  Snapshot snapshot(loaded());
  write(streams("a", ", maxDelay: 3h, spread: start, onMissingKey: deadLetter"));
  EXPECT_TRUE(snapshot.reload().changed);
  EXPECT_EQ(snapshot.get()->streams.at(0).stream->booking->max_delay, 3h);
}

TEST_F(Reload, SeesANewSecretBehindTheSameConfig) {
  std::ofstream(folder_ / "token") << "old-secret-0123456789";
  write(
      document(5, "server: { tokens: [ { file: token, scopes: [admin] }, { env: T, scopes: [check] } ] }\n"));
  const Environment environment = [](const std::string&) { return std::string("env-secret-0123456789"); };
  Snapshot snapshot(loaded(environment), environment);
  for (int i = 0; i < 4; ++i) ASSERT_FALSE(snapshot.reload().changed);
  std::ofstream(folder_ / "token") << "new-secret-0123456789";
  EXPECT_TRUE(snapshot.reload().changed);
  EXPECT_EQ(snapshot.get()->server.tokens.at(0).secret, "new-secret-0123456789");
  // A secret that is gone refuses the set; when it comes back, that is seen too.
  fs::remove(folder_ / "token");
  EXPECT_TRUE(snapshot.reload().refused);
  EXPECT_EQ(snapshot.get()->server.tokens.at(0).secret, "new-secret-0123456789");
  std::ofstream(folder_ / "token") << "newest-secret-0123456789";
  EXPECT_TRUE(snapshot.reload().changed);
}

}  // namespace
}  // namespace dripgate::config
