// Message heads as text. Pure. A value can never forge a line: control characters become spaces.
#pragma once

#include <string>

#include "http/message.h"

namespace dripgate::http {

/// Status line and headers, to the empty line; Content-Length is that of the body, also for HEAD.
void append_answer_head(std::string& out, const Response& response, bool keep_alive);
/// The same for a request of our client.
[[nodiscard]] std::string request_head(std::string_view method, std::string_view target,
                                       std::string_view authority, const Headers& headers,
                                       std::size_t body_bytes);
/// 1xx, 204 and 304 have no body and no Content-Length.
[[nodiscard]] bool has_body(int status);

}  // namespace dripgate::http
