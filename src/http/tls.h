// TLS contexts from files, for the Asio files of this room only. TLS 1.2 and later.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <boost/asio/ssl/context.hpp>

#include "base/result.h"
#include "http/client.h"
#include "http/server.h"

namespace dripgate::http {

using TlsContext = std::shared_ptr<boost::asio::ssl::context>;

/// Errors: invalid_argument, naming the file.
[[nodiscard]] Result<TlsContext> server_tls(const ServerTls& files);
/// Verifies the peer against options.ca_file or the system's CAs. Errors: invalid_argument, naming the file.
[[nodiscard]] Result<TlsContext> client_tls(const ClientOptions& options);

}  // namespace dripgate::http
