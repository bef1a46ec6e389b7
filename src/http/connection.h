// Connection: one client of the server, one coroutine: read a request, have it answered, write the answer,
// again. Inside src/http only; everything on its loop's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "http/deadline.h"
#include "http/reply_slot.h"
#include "http/request_reader.h"
#include "http/server_core.h"
#include "http/transport.h"

namespace dripgate::http {

class Connection {
 public:
  Connection(std::shared_ptr<ServerCore> core, LoopShare& share, std::unique_ptr<Transport> transport,
             Peer peer);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  /// Until either side has enough.
  Awaitable<void> serve();
  /// Over the cap: a 503 and the end, without reading a request.
  Awaitable<void> turn_away();
  /// The server stops: close when idle, else after the answer in hand.
  void wind_down();
  void close() { transport_->close(); }

 private:
  enum class Next : std::uint8_t { bytes, go_ahead, request, refused };

  Awaitable<void> serve_requests();
  Awaitable<bool> read_more();
  Awaitable<void> tell_go_ahead();
  Awaitable<void> until_answered();
  Awaitable<bool> write(const Response& response, bool keep_alive, bool with_body);
  Awaitable<bool> write_rest(std::size_t written, std::string_view body);
  Awaitable<void> refuse(Response response);
  Awaitable<void> linger();

  Next advance(Counted& body);
  Next head_read();
  bool within_body_budget(Counted& body);
  void ask_handler(Request&& request);
  std::string_view render(const Response& response, bool keep_alive, bool with_body);
  void set_read_deadline();

  std::shared_ptr<ServerCore> core_;
  LoopShare& share_;
  std::unique_ptr<Transport> transport_;
  Peer peer_;
  RequestReader reader_;
  std::shared_ptr<ReplySlot> reply_ = std::make_shared<ReplySlot>();
  std::string out_;  // the answer on its way
  Response refusal_;
  enum class Phase : std::uint8_t { none, idle, header, body };
  Phase deadline_of_ = Phase::none;  // which deadline runs
  bool waiting_for_request_ = false;
  Deadline deadline_;
};

}  // namespace dripgate::http
