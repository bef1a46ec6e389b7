// A host on one SQLite file, which this process owns: one loop, whose turns share a commit.
#include <utility>

#include "embed/file_stores.h"
#include "embed/host.h"

namespace dripgate::embed {
namespace {

class FileHost final : public Host {
 public:
  explicit FileHost(const std::string& path) : stores_(path, loop_, clock_) {}

  Result<void> open() {
    if (auto opened = stores_.open(); !opened) return opened;
    start([this] { stores_.end_turn(); });
    return {};
  }

  void enter(Task task) override { loop_.post(std::move(task)); }
  void run(Task task) override { here() ? task() : void(loop_.run(std::move(task))); }
  store::CounterStore& counters() override { return stores_.counters(); }
  store::BookingStore& bookings() override { return stores_.bookings(); }
  store::VendorStore& vendors() override { return stores_.vendors(); }
  Executor& executor() override { return loop_; }

 private:
  FileStores stores_;
};

}  // namespace

Result<HostPtr> open_file_host(const config::SqliteStore& store) {
  auto host = std::make_unique<FileHost>(store.path);
  if (auto opened = host->open(); !opened) return std::unexpected(opened.error());
  return v1::shared(std::move(host));
}

}  // namespace dripgate::embed
