#include "redis/sentinel_answer.h"

#include <sstream>
#include <string>

#include "redis/failure.h"

namespace dripgate::redis {
namespace {

std::optional<Endpoint> endpoint_of(const std::string& host, const std::string& port) {
  return parse_endpoint(host + ":" + port);
}

}  // namespace

std::optional<Endpoint> master_address(const Reply& reply) {
  const auto* items = reply.items();
  const std::string* host = items != nullptr && items->size() == 2 ? (*items)[0].text() : nullptr;
  const std::string* port = host != nullptr ? (*items)[1].text() : nullptr;
  return port != nullptr ? endpoint_of(*host, *port) : std::nullopt;
}

std::optional<Endpoint> switched_to(std::string_view message, std::string_view master) {
  std::istringstream words{std::string(message)};
  std::string name, old_host, old_port, host, port;
  if (!(words >> name >> old_host >> old_port >> host >> port) || name != master) return std::nullopt;
  return endpoint_of(host, port);
}

}  // namespace dripgate::redis
