// What a gateway says of the request that it asks for: facts from X-Forwarded-* or X-Original-*, and from the
// headers that server.forwardAuth names. Pure.
#pragma once

#include <expected>

#include "check/check.h"
#include "config/config.h"
#include "http/message.h"

namespace dripgate::server {

struct Forwarded {
  check::Request request;  // facts: method, path, host, ip, and those of the config that are there
  bool preflight = false;  // a browser asks whether it may ask: not counted
};

/// A refusal is the response: 403 (the peer is no trusted proxy, or method or path are there twice and
/// differ: one of them was written by the client), 400 (method or path are missing).
[[nodiscard]] std::expected<Forwarded, http::Response> read_forwarded(const http::Request& request,
                                                                      const config::Server& server);

[[nodiscard]] bool is_trusted_proxy(const http::Peer& peer, const config::Server& server);

}  // namespace dripgate::server
