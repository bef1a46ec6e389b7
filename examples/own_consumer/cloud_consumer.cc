// The same consumer with Google Cloud Tasks as its timer: events as NDJSON on stdin, tasks as HTTP requests
// to 127.0.0.1:PORT, where a proxy that checks their identity token stands in front (Cloud Run, or your own):
// whoever reaches this port can fire tickets. `dripgate dispatch` checks tokens itself.
//
//   PORT=8081 CLOUD_TASKS_QUEUE=projects/P/locations/L/queues/Q
//   CLOUD_TASKS_TARGET=https://consumer.example.com/tasks CLOUD_TASKS_ACCOUNT=tasks@P.iam.gserviceaccount.com
//   cloud_consumer FOLDER LIMIT WINDOW_SECONDS < events.ndjson
//
// CLOUD_TASKS_EMULATOR_HOST=host:port in place of Google's.
#include <chrono>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <thread>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "cloud_timer.h"
#include "consumer.h"

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

constexpr std::chrono::seconds kPeerPatience{10};
constexpr std::uint64_t kTaskBytesMax = 1 << 20;

std::string variable(const char* name, const char* without = nullptr) {
  const char* value = std::getenv(name);
  if (value == nullptr && without == nullptr)
    throw std::runtime_error(std::string(name) + " is not set; see the head of cloud_consumer.cc");
  return value == nullptr ? without : value;
}

/// 2xx: the task is over. Anything else brings it again, later.
http::status fire(Consumer& consumer, const http::request<http::string_body>& task) {
  const auto ticket = dripgate::Ticket::from_text(std::string(task[kTicketHeader]));
  if (!ticket) {
    std::cerr << "dead letter (no ticket): " << task.body() << '\n';
    return http::status::ok;
  }
  try {
    consumer.fire(*ticket, task.body());
    return http::status::ok;
  } catch (const std::exception& error) {
    std::cerr << "again: " << error.what() << '\n';
    return http::status::internal_server_error;
  }
}

asio::awaitable<void> answer_one(beast::tcp_stream peer, Consumer& consumer) try {
  beast::flat_buffer buffer;
  http::request_parser<http::string_body> parser;
  parser.body_limit(kTaskBytesMax);
  peer.expires_after(kPeerPatience);
  co_await http::async_read(peer, buffer, parser, asio::use_awaitable);
  http::response<http::empty_body> response(fire(consumer, parser.get()), 11);
  response.keep_alive(false);
  response.prepare_payload();
  co_await http::async_write(peer, response, asio::use_awaitable);
} catch (const boost::system::system_error&) {
  // A peer that went: the task comes again, and the gate knows it.
}

asio::awaitable<void> accept_all(asio::ip::tcp::acceptor& acceptor, Consumer& consumer) {
  for (;;) {
    beast::tcp_stream peer(co_await acceptor.async_accept(asio::use_awaitable));
    asio::co_spawn(acceptor.get_executor(), answer_one(std::move(peer), consumer), asio::detached);
  }
}

int failed(const std::exception& error) {
  std::cerr << "cloud_consumer: " << error.what() << '\n';
  return 1;
}

/// Ends the process where it fails: what was not taken comes again.
void take_all(Consumer& consumer) try {
  for (std::string line; std::getline(std::cin, line);) consumer.take(line);
} catch (const std::exception& error) {
  std::_Exit(failed(error));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4)
    return std::cerr << "usage: cloud_consumer FOLDER LIMIT WINDOW_SECONDS < events.ndjson, "
                        "{\"id\":\"pay_1\",\"merchant\":\"m1\"} a line\n",
           2;
  try {
    CloudTimer timer({.queue = variable("CLOUD_TASKS_QUEUE"),
                      .target = variable("CLOUD_TASKS_TARGET"),
                      .account = variable("CLOUD_TASKS_ACCOUNT"),
                      .emulator = variable("CLOUD_TASKS_EMULATOR_HOST", "")});
    const std::chrono::seconds window{std::atoi(argv[3])};
    Consumer consumer(argv[1], dripgate::Limit::fixed(std::atoi(argv[2]), window), timer);
    asio::io_context io;
    const auto port = static_cast<std::uint16_t>(std::stoi(variable("PORT")));
    asio::ip::tcp::acceptor acceptor(io, {asio::ip::make_address("127.0.0.1"), port});
    asio::co_spawn(io, accept_all(acceptor, consumer), [](const std::exception_ptr& why) {
      if (why) std::rethrow_exception(why);
    });
    std::thread lines([&] { take_all(consumer); });
    lines.detach();
    io.run();
  } catch (const std::exception& error) {
    return failed(error);
  }
}
