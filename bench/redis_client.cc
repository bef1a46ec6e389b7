// The Redis client (one pipelined connection) against a pool of 8 request-reply connections on the same loop,
// the same Redis and the same script, taking turns: saturated throughput, and the median latency of 60,000
// calls a second offered on time whatever is still open. That is what the pool does saturated on a quiet
// machine of this class; where it did less in this run, so much is offered. The limiter's script stands for
// the work: GET, arithmetic, SET PX on one of 100,000 keys.
#include <array>
#include <deque>
#include <random>

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include "compare.h"
#include "net/io_loop_impl.h"
#include "redis/call.h"
#include "redis/make_client.h"
#include "redis/reply_reader.h"
#include "support/redis/redis_server.h"

namespace dripgate::bench {
namespace {

namespace asio = boost::asio;

constexpr std::uint64_t kCalls = 100'000;  // of one repeat
constexpr std::size_t kPool = 8;
constexpr int kRepeats = 5;
constexpr std::int64_t kOfferedPerSecond = 60'000;
constexpr std::size_t kOpenMax = 60'000;
constexpr double kKeptUp = 1.1;
constexpr std::size_t kKeys = 100'000;

const redis::Script& gcra() {
  static const redis::Script script(R"(#!lua
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local tat = tonumber(redis.call('GET', KEYS[1]) or 0)
if tat < now then tat = now end
local next = tat + ARGV[1]
if next - now > tonumber(ARGV[2]) then return now - next end
redis.call('SET', KEYS[1], next, 'PX', ARGV[3])
return 1)");
  return script;
}

constexpr std::array<std::string_view, 3> kArguments{"1000", "60000000", "60000"};

/// Takes a key, calls back when the answer is there.
using Call = std::function<void(std::string_view key, std::move_only_function<void()> done)>;

void must(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "redis_client: %s\n", what.c_str());
  std::exit(2);
}

/// The control: every connection sends one call and waits for its reply; further calls wait for a free one.
class Pool {
 public:
  Pool(net::IoLoop& loop, std::uint16_t port) {
    for (std::size_t i = 0; i < kPool; ++i) {
      connections_.push_back(std::make_unique<Connection>(loop.impl()->context));
      Connection& one = *connections_.back();
      one.socket.connect({asio::ip::address_v4::loopback(), port});
      one.socket.set_option(asio::ip::tcp::no_delay(true));
      idle_.push_back(&one);
    }
  }
  void call(std::string_view key, std::move_only_function<void()> done) {
    const std::array<std::string_view, 1> keys{key};
    std::string wire = std::move(redis::script_call(gcra(), keys, kArguments, {}, {})->wire);
    waiting_.push_back({std::move(wire), std::move(done)});
    if (idle_.empty()) return;
    Connection& one = *idle_.back();
    idle_.pop_back();
    next(one);
  }

 private:
  struct Waiting {
    std::string wire;
    std::move_only_function<void()> done;
  };
  struct Connection {
    explicit Connection(asio::io_context& context) : socket(context) {}
    asio::ip::tcp::socket socket;
    redis::ReplyReader reader;
    std::array<char, 4096> bytes;
    Waiting current;
  };

  void next(Connection& one) {
    if (waiting_.empty()) return idle_.push_back(&one);
    one.current = std::move(waiting_.front());
    waiting_.pop_front();
    asio::async_write(one.socket, asio::buffer(one.current.wire),
                      [this, &one](const boost::system::error_code& ec, std::size_t) {
                        must(!ec, "the pool cannot write");
                        read(one);
                      });
  }
  void read(Connection& one) {
    one.socket.async_read_some(asio::buffer(one.bytes),
                               [this, &one](const boost::system::error_code& ec, std::size_t size) {
                                 must(!ec, "the pool cannot read");
                                 one.reader.feed({one.bytes.data(), size});
                                 redis::Parsed reply;
                                 if (!one.reader.next(reply).value()) return read(one);
                                 must(reply.has_value(), "the pool was refused");
                                 auto done = std::move(one.current.done);
                                 next(one);
                                 done();
                               });
  }

  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<Connection*> idle_;
  std::deque<Waiting> waiting_;
};

struct Offered {
  double p50_us = 0;     // from when a call was due to its answer
  bool kept_up = false;  // all answered in about the time they were offered in
};

class Site {
 public:
  Site() : pool_(loop_, server_.port()) {
    // A machine too slow for the offered load shows as latency, in both, not as refusals.
    client_ =
        redis::make_client(
            loop_, {.nodes = {{"127.0.0.1", server_.port()}}, .timeout = 60s, .in_flight_max = kOpenMax})
            .value();
    for (std::size_t i = 0; i < kKeys; ++i) keys_.push_back("rl:{t:acme}:api:k:" + std::to_string(i));
    must(server_.ask({"SCRIPT", "LOAD", std::string(gcra().text())}) == gcra().sha1(), "the script");
  }
  ~Site() {
    client_.reset();
    loop_.run_for(Duration{1000});
  }
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  Call client() {
    return [this](std::string_view key, std::move_only_function<void()> done) {
      client_->run(gcra(), std::array<std::string_view, 1>{key}, kArguments,
                   [done = std::move(done)](const Result<redis::Reply>& reply) mutable {
                     must(reply.has_value(), reply ? "" : reply.error().detail);
                     done();
                   });
    };
  }
  Call pool() {
    return [this](std::string_view key, std::move_only_function<void()> done) {
      pool_.call(key, std::move(done));
    };
  }

  /// As fast as it goes with so many calls open.
  std::uint64_t saturate(const Call& call, std::size_t open) {
    std::uint64_t sent = 0, answered = 0;
    std::function<void()> send = [&] {
      if (sent == kCalls) return;
      ++sent;
      call(any_key(), [&] {
        ++answered;
        send();
      });
    };
    for (std::size_t i = 0; i < open; ++i) send();
    while (answered < kCalls) loop_.run_for(Duration{500});
    return kCalls;
  }

  /// Calls on time whatever is still open. A machine that others use may be too slow for both: then their
  /// queues are compared, which says nothing.
  Offered offer(const Call& call, std::int64_t per_second) {
    const auto offered = static_cast<std::uint64_t>(per_second) / 2;
    std::vector<double> took;
    took.reserve(offered);
    const MonoTime start = loop_.now();
    std::uint64_t sent = 0;
    while (took.size() < offered) {
      for (; sent < offered; ++sent) {
        const MonoTime due = start + Duration{static_cast<std::int64_t>(sent) * 1'000'000 / per_second};
        if (due > loop_.now()) break;
        call(any_key(),
             [&took, due, this] { took.push_back(static_cast<double>((loop_.now() - due).count())); });
      }
      loop_.impl()->context.poll();  // never sleeps: no wake-up is in the figures
    }
    const double planned = 1e6 * static_cast<double>(offered) / static_cast<double>(per_second);
    const auto spent = static_cast<double>((loop_.now() - start).count());
    return {.p50_us = median(std::move(took)), .kept_up = spent < kKeptUp * planned};
  }

 private:
  const std::string& any_key() { return keys_[random_() % kKeys]; }

  dripgate::testing::RedisServer server_;
  net::IoLoop loop_;
  Pool pool_;
  std::unique_ptr<redis::Client> client_;
  std::vector<std::string> keys_;
  std::mt19937_64 random_{42};
};

void compare_latency(Site& site, Comparison& table, std::int64_t per_second) {
  std::vector<double> ratios;
  for (int round = -1; round < kRepeats; ++round) {
    const Offered client = site.offer(site.client(), per_second);
    const Offered pool = site.offer(site.pool(), per_second);
    if (round < 0) continue;
    std::printf(R"({"bench":"redis_client","repeat":%d,"p50_us_client":%.0f,"p50_us_pool":%.0f,"kept_up":%s})"
                "\n",
                round, client.p50_us, pool.p50_us, client.kept_up ? "true" : "false");
    if (client.kept_up) ratios.push_back(client.p50_us / pool.p50_us);
  }
  const std::string what = "p50 at " + std::to_string(per_second) + "/s offered, client / pool of 8";
  if (ratios.size() > kRepeats / 2) {
    table.judge(what, median(ratios), 0.5, "x");
  } else {
    std::printf("%s: not judged, this machine does not do so many scripts a second now\n", what.c_str());
  }
}

int run(int argc, char** argv) {
  Comparison table("redis_client", argc, argv);
  Site site;
  table.add("client, 64 open", [&] { return site.saturate(site.client(), 64); });
  table.add("client, 256 open", [&] { return site.saturate(site.client(), 256); });
  table.add("pool of 8, 256 open", [&] { return site.saturate(site.pool(), 256); });
  table.run();
  for (const char* subject : {"client, 64 open", "client, 256 open"}) {
    std::printf("%s: %.2f times the throughput of the pool\n", subject,
                1 / table.ratio(subject, "pool of 8, 256 open"));
    table.expect_ratio(subject, "pool of 8, 256 open", 1 / 2.5);
  }
  const auto pool_per_second = static_cast<std::int64_t>(1e9 / table.median_of("pool of 8, 256 open"));
  compare_latency(site, table, std::min(kOfferedPerSecond, pool_per_second));
  return table.verdict();
}

}  // namespace
}  // namespace dripgate::bench

int main(int argc, char** argv) {
  return dripgate::bench::run(argc, argv);
}
