// TLS contexts from files, for Asio files of the rooms that speak TLS. TLS 1.2 and later.
#pragma once

#include <memory>

#include <boost/asio/ssl/context.hpp>

#include "base/result.h"
#include "net/tls_files.h"

namespace dripgate::net {

using TlsContext = std::shared_ptr<boost::asio::ssl::context>;

/// Errors: invalid_argument, naming the file.
[[nodiscard]] Result<TlsContext> server_tls(const ServerTls& files);
/// Verifies the peer against files.ca_file or the system's CAs. Errors: invalid_argument, naming the file.
[[nodiscard]] Result<TlsContext> client_tls(const ClientTls& files);

}  // namespace dripgate::net
