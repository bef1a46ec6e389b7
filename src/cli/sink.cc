// `dripgate sink`: receives deliveries and logs them, until SIGINT or SIGTERM.
#include <charconv>
#include <csignal>
#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "cli/console.h"
#include "cli/receiver.h"
#include "cli/vendor_simulator.h"
#include "cli/verbs.h"
#include "http/server.h"
#include "runtime/real_clock.h"

namespace dripgate::cli {
namespace {

// Set by the signal handler, looked at by the loop below.
volatile std::sig_atomic_t stop_asked = 0;
constexpr Duration kLookForStop = 100ms;

struct CloseFile {
  void operator()(std::FILE* file) const {
    if (file != stdout) std::fclose(file);
  }
};
using LogFile = std::unique_ptr<std::FILE, CloseFile>;

LogFile open_log(const std::string& path) {
  return LogFile(path == "-" ? stdout : std::fopen(path.c_str(), "a"));
}

struct Address {
  std::string host;
  std::uint16_t port = 0;  // 0: any free one
};

Result<Address> listen_address(const std::string& listen) {
  const std::size_t colon = listen.rfind(':');
  if (colon != std::string::npos && colon > 0) {
    Address address{.host = listen.substr(0, colon)};
    if (address.host.starts_with('[') && address.host.ends_with(']')) {
      address.host = address.host.substr(1, address.host.size() - 2);
    }
    const char* end = listen.data() + listen.size();
    const auto [stop, error] = std::from_chars(listen.data() + colon + 1, end, address.port);
    if (error == std::errc{} && stop == end) return address;
  }
  return fail(ErrorCode::invalid_argument,
              "--listen is '" + listen + "'; accepted: HOST:PORT, as 127.0.0.1:9000");
}

/// `--vendor`: every request is one of the vendor's API, logged as a delivery without the drip's headers.
class PlayedVendor {
 public:
  PlayedVendor(const SinkOptions& options, const Clock& clock, net::IoLoop& loop, Receiver::Taker taker)
      : simulator_({.profile = options.vendor,
                    .limit = options.limit > 0 ? options.limit : kVendorLimit,
                    .window = options.limit > 0 ? options.window : kVendorWindow,
                    .skew = options.skew,
                    .secondary = options.secondary}),
        slow_(options.slow),
        clock_(clock),
        loop_(loop),
        taker_(std::move(taker)) {}

  void handle(const http::Request& request, http::Reply reply) {
    const WallTime now = clock_.now();
    http::Response response = simulator_.answer(now);
    Received received;
    received.time = now;
    received.status = response.status;
    received.bytes = request.body.size();
    taker_(received);
    if (slow_ == Duration{0}) return reply(std::move(response));
    loop_.post_after(slow_, [reply = std::move(reply), response = std::move(response)]() mutable {
      reply(std::move(response));
    });
  }
  [[nodiscard]] const VendorSimulator& simulator() const { return simulator_; }

 private:
  static constexpr std::int64_t kVendorLimit = 50;
  static constexpr Duration kVendorWindow = 1s;

  VendorSimulator simulator_;
  Duration slow_;
  const Clock& clock_;
  net::IoLoop& loop_;
  Receiver::Taker taker_;
};

}  // namespace

int run_sink(const SinkOptions& options) {
  const auto address = listen_address(options.listen);
  if (!address) return complain(address.error());
  const LogFile log = open_log(options.log);
  if (log == nullptr) {
    return complain(Error{ErrorCode::invalid_argument, false, "cannot write to " + options.log});
  }
  std::signal(SIGPIPE, SIG_IGN);
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { stop_asked = 1; });

  net::IoLoop loop;
  const runtime::RealClock clock;
  std::uint64_t count = 0;
  const Receiver::Taker taker = [&](const Received& received) {
    ++count;
    fmt::print(log.get(), "{}\n", to_json_line(received));
    std::fflush(log.get());
  };
  Receiver receiver({.slow = options.slow,
                     .fail_rate = options.fail_rate,
                     .fail_status = options.fail_status,
                     .limit = options.limit,
                     .window = options.window},
                    clock, loop, taker);
  std::unique_ptr<PlayedVendor> vendor;
  if (!options.vendor.empty()) vendor = std::make_unique<PlayedVendor>(options, clock, loop, taker);
  auto server = http::Server::listen(
      {.host = address->host, .port = address->port, .tls = {}, .limits = {}, .head_check = {}}, {&loop},
      [&](http::Request request, http::Reply reply) {
        if (vendor != nullptr) return vendor->handle(request, std::move(reply));
        receiver.handle(std::move(request), std::move(reply));
      });
  if (!server) {
    complain(server.error());
    return kExitRefused;
  }
  complain(fmt::format("sink listens on {}:{}", address->host, (*server)->port()));
  while (stop_asked == 0) loop.run_for(kLookForStop);
  complain(fmt::format("sink received {} deliveries", count));
  if (vendor != nullptr) {
    complain(fmt::format("vendor served {} and refused {}", vendor->simulator().served(),
                         vendor->simulator().refused()));
  }
  return kExitOk;
}

}  // namespace dripgate::cli
