// TLS on both sides of the real binary: `server.tls` and an https sink with a CA of its own.
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "http/server.h"
#include "integration/processes.h"
#include "net/io_loop.h"
#include "support/certificates.h"

namespace dripgate::integration {
namespace {

/// An https endpoint in this process that remembers the ids it was given.
class TlsSink {
 public:
  explicit TlsSink(const testing::Certificates& files) {
    http::ServerOptions options;
    options.tls = net::ServerTls{files.cert, files.key, {}};
    auto bound =
        http::Server::listen(std::move(options), {&loop_}, [this](http::Request request, http::Reply reply) {
          const std::scoped_lock lock(mutex_);
          ids_.emplace(http::value_of(request.headers, "dripgate-id"));
          reply({.status = 200});
        });
    server_ = std::move(bound.value());
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~TlsSink() {
    loop_.stop();
    thread_.join();
  }
  TlsSink(const TlsSink&) = delete;

  [[nodiscard]] std::string url() const {
    return "https://127.0.0.1:" + std::to_string(server_->port()) + "/payouts";
  }
  [[nodiscard]] std::size_t received() {
    const std::scoped_lock lock(mutex_);
    return ids_.size();
  }

 private:
  net::IoLoop loop_;
  std::mutex mutex_;
  std::set<std::string> ids_;
  std::unique_ptr<http::Server> server_;
  std::thread thread_;
};

std::string tls_of(const testing::Certificates& files) {
  return ", tls: { cert: \"" + files.cert + "\", key: \"" + files.key + "\" }";
}

TEST(Tls, IsServedToWhoTrustsItsCaAndToNobodyElse) {
  const testing::Certificates files;
  Processes processes({.server = tls_of(files), .ca_file = files.ca});
  ASSERT_TRUE(processes.start()) << processes.up_log();
  const Finished published = processes.publish(payout_lines("p", 20, 2));
  EXPECT_EQ(published.code, 0) << published.err;
  ASSERT_TRUE(eventually([&] { return processes.confirmed_ids().size() == 20; })) << processes.up_log();

  const auto publish_with = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{"publish", "payouts", processes.folder.path("one.ndjson"), "--retries",
                                       "0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    write_file(processes.folder.path("one.ndjson"), payout_lines("q", 1, 1));
    return run(arguments, processes.folder.path("refused"));
  };
  const Finished stranger = publish_with({"--url", processes.url(), "--ca-file", files.other_ca});
  EXPECT_NE(stranger.code, 0) << "a CA that did not sign it";
  const std::string clear = "http" + processes.url().substr(std::string("https").size());
  EXPECT_NE(publish_with({"--url", clear}).code, 0) << "clear text to a TLS port";
  EXPECT_EQ(processes.confirmed_ids().size(), 20u);
}

TEST(Tls, ReachesAnHttpsSinkByTheCaThatDeliverNames) {
  const testing::Certificates files;
  TlsSink sink(files);
  Processes processes({.deliver_url = sink.url(), .deliver_more = ", ca: \"" + files.ca + "\""});
  ASSERT_TRUE(processes.start()) << processes.up_log();
  EXPECT_EQ(processes.publish(payout_lines("p", 20, 2)).code, 0);
  ASSERT_TRUE(eventually([&] { return sink.received() == 20; })) << processes.up_log();
}

TEST(Tls, KeepsEventsFromAnHttpsSinkThatItsCaDidNotSign) {
  const testing::Certificates files;
  TlsSink sink(files);
  Processes processes({.deliver_url = sink.url(), .deliver_more = ", ca: \"" + files.other_ca + "\""});
  ASSERT_TRUE(processes.start()) << processes.up_log();
  EXPECT_EQ(processes.publish(payout_lines("p", 1, 1)).code, 0);
  ASSERT_TRUE(eventually([&] { return processes.up_log().contains("not delivered"); })) << processes.up_log();
  EXPECT_EQ(sink.received(), 0u);
}

}  // namespace
}  // namespace dripgate::integration
