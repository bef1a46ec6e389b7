// Which PEM files a TLS connection uses; without any Asio type, so that options structs can hold them.
#pragma once

#include <optional>
#include <string>

namespace dripgate::net {

struct ServerTls {
  std::string cert_file;                        // PEM chain
  std::string key_file;                         // PEM
  std::optional<std::string> client_ca_file{};  // set: clients without a certificate of this CA are refused
};

struct ClientTls {
  std::optional<std::string> ca_file{};    // PEM of the CAs to trust; empty: the system's
  std::optional<std::string> cert_file{};  // client certificate (PEM), with key_file
  std::optional<std::string> key_file{};
};

}  // namespace dripgate::net
