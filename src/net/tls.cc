// TLS contexts from files.
#include "net/tls.h"

#include <string>
#include <string_view>

namespace dripgate::net {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

namespace {

std::unexpected<Error> bad_file(std::string_view what, const std::string& file, const error_code& ec) {
  return fail(ErrorCode::invalid_argument, std::string(what) + " '" + file + "' cannot be used: " +
                                               ec.message() + "; accepted: a readable PEM file");
}

TlsContext make_context(ssl::context::method method) {
  auto context = std::make_shared<ssl::context>(method);
  context->set_options(ssl::context::default_workarounds | ssl::context::no_sslv2 | ssl::context::no_sslv3 |
                       ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1 | ssl::context::single_dh_use);
  return context;
}

// The certificate first: OpenSSL checks the key against it.
std::optional<std::unexpected<Error>> load_identity(ssl::context& context, const std::string& cert_file,
                                                    const std::string& key_file) {
  error_code ec;
  context.use_certificate_chain_file(cert_file, ec);
  if (ec) return bad_file("certificate", cert_file, ec);
  context.use_private_key_file(key_file, ssl::context::pem, ec);
  if (ec) return bad_file("private key", key_file, ec);
  return std::nullopt;
}

}  // namespace

Result<TlsContext> server_tls(const ServerTls& files) {
  TlsContext context = make_context(ssl::context::tls_server);
  if (auto error = load_identity(*context, files.cert_file, files.key_file)) return *error;
  if (!files.client_ca_file) return context;
  error_code ec;
  context->load_verify_file(*files.client_ca_file, ec);
  if (ec) return bad_file("client CA", *files.client_ca_file, ec);
  context->set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert, ec);
  // Resumed sessions of a server that verifies clients need an id context; without one OpenSSL refuses them.
  static constexpr unsigned char kSessionContext[] = "dripgate";
  SSL_CTX_set_session_id_context(context->native_handle(), kSessionContext, sizeof kSessionContext - 1);
  return context;
}

Result<TlsContext> client_tls(const ClientTls& files) {
  TlsContext context = make_context(ssl::context::tls_client);
  error_code ec;
  if (files.ca_file) {
    context->load_verify_file(*files.ca_file, ec);
    if (ec) return bad_file("CA", *files.ca_file, ec);
  } else {
    context->set_default_verify_paths(ec);
  }
  context->set_verify_mode(ssl::verify_peer, ec);
  if (files.cert_file && files.key_file) {
    if (auto error = load_identity(*context, *files.cert_file, *files.key_file)) return *error;
  }
  return context;
}

}  // namespace dripgate::net
