// Routes: the HTTP API of docs/http-api.md over a StreamService and a GateService. No socket here: app gives
// the handler to http::Server, tests call it.
#pragma once

#include <functional>

#include "config/snapshot.h"
#include "http/message.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "server/gate_service.h"
#include "server/stream_service.h"
#include "server/task_service.h"
#include "server/vendor_service.h"

namespace dripgate::server {

/// Everything referred to outlives the handler and its open replies.
struct RouteContext {
  StreamService& service;
  std::function<config::ConfigPtr()> config;  // thread-safe; asked per request, so that a reload takes effect
  obs::Metrics& metrics;
  obs::Log& log;
  GateService* gate = nullptr;       // null: this process checks nothing
  VendorService* vendors = nullptr;  // null: nor does it keep vendors' limits
  TaskService* tasks = nullptr;      // null: no timer pushes to this process
};

struct Routes {
  http::Handler handler;       // thread-safe
  http::HeadCheck head_check;  // the same access rules before the body is read: ServerOptions.head_check
};

[[nodiscard]] Routes make_routes(RouteContext context);

}  // namespace dripgate::server
