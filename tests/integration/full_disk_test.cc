// A disk that is really full: a small file system of its own. New events are refused with 507, what is booked
// is delivered, and with some space freed everything goes on.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/mount.h>

#include "integration/processes.h"

namespace dripgate::integration {
namespace {

constexpr const char* kDiskBytes = "size=40m";

/// A file system of kDiskBytes, unmounted at the end. Needs root and the right to mount.
class SmallDisk {
 public:
  explicit SmallDisk(std::string path) : path_(std::move(path)) {
    std::filesystem::create_directories(path_);
    mounted_ = ::mount("none", path_.c_str(), "tmpfs", 0, kDiskBytes) == 0;
  }
  ~SmallDisk() {
    if (mounted_) (void)::umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  [[nodiscard]] bool mounted() const { return mounted_; }
  [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }
  /// Takes all the space that is left; answers how many bytes that was.
  std::uintmax_t fill() {
    std::ofstream out(path("ballast"), std::ios::binary | std::ios::app);
    const std::string block(4096, 'x');
    while (out.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
    return std::filesystem::file_size(path("ballast"));
  }
  void free() { std::filesystem::remove(path("ballast")); }

 private:
  std::string path_;
  bool mounted_ = false;
};

std::string big_lines(const std::string& prefix, int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) {
    lines += R"({"payoutId":")" + prefix + std::to_string(i) + R"(","merchant_id":"m","note":")" +
             std::string(20'000, 'n') + "\"}\n";
  }
  return lines;
}

TEST(FullDisk, RefusesNewEventsAndStillDeliversWhatIsBooked) {
  testing::ScratchFolder folder;
  SmallDisk disk(folder.path("disk"));
  if (!disk.mounted()) GTEST_SKIP() << "this test mounts a small file system: it needs root";
  Processes processes(
      {.limits = "[ { rps: 20 } ]", .store = "{ sqlite: \"" + disk.path("dripgate.db") + "\" }"});
  ASSERT_TRUE(processes.start()) << processes.up_log();
  ASSERT_EQ(processes.publish(payout_lines("p", 150, 1)).code, 0);
  disk.fill();
  const Finished refused = processes.publish(big_lines("big", 600), {"--batch", "20", "--retries", "2"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.out.find("507"), std::string::npos) << refused.out << processes.up_log();
  const Finished state = processes.ask({"inspect", "payouts"});
  EXPECT_EQ(state.code, 0) << state.err;
  const auto all_booked = [&] {
    const auto ids = processes.confirmed_ids();
    for (int i = 1; i <= 150; ++i) {
      if (!ids.contains("p" + std::to_string(i))) return false;
    }
    return true;
  };
  EXPECT_TRUE(eventually(all_booked, std::chrono::milliseconds{100'000}))
      << processes.confirmed_ids().size() << processes.up_log();
  EXPECT_LE(fullest_second(processes.sink_lines()), 20u);

  disk.free();
  ASSERT_TRUE(eventually([&] { return processes.publish(payout_lines("late", 10, 1)).code == 0; }));
  EXPECT_TRUE(eventually([&] { return processes.confirmed_ids().contains("late10"); },
                         std::chrono::milliseconds{100'000}));
  EXPECT_TRUE(processes.up().running());
}

}  // namespace
}  // namespace dripgate::integration
