// What Sentinels say of a primary's place. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "redis/options.h"
#include "redis/reply.h"

namespace dripgate::redis {

/// Of a reply to SENTINEL GET-MASTER-ADDR-BY-NAME, [host, port]; empty: it knows no master of that name.
[[nodiscard]] std::optional<Endpoint> master_address(const Reply& reply);
/// Of a message on +switch-master, "NAME OLD-IP OLD-PORT NEW-IP NEW-PORT"; empty: another master's, or no
/// such message.
[[nodiscard]] std::optional<Endpoint> switched_to(std::string_view message, std::string_view master);

}  // namespace dripgate::redis
