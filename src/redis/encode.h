// RESP2 of what is sent: a command is an array of bulk strings. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "redis/client.h"

namespace dripgate::redis {

/// The head of a command of `count` words; append_word for each must follow.
void append_head(std::string& out, std::size_t count);
void append_word(std::string& out, std::string_view word);
void append_command(std::string& out, Words words);
[[nodiscard]] std::string encode(Words words);

}  // namespace dripgate::redis
