// The keys of topics, timers and dead letters in Redis. Everything of one partition has one hash tag,
// "{payouts/p00}", so that a script may use it. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dripgate::broker::redis_streams {

/// "{payouts/p00}"; a brace or percent sign of the name is escaped ("%7B").
[[nodiscard]] std::string partition_tag(std::string_view name, std::size_t partition);
/// Where the message or entry with this id lives: the same in every process.
[[nodiscard]] std::size_t partition_of(std::string_view id, std::size_t partitions);

[[nodiscard]] std::string stream_key(std::string_view prefix, std::string_view tag);
[[nodiscard]] std::string id_record_key(std::string_view prefix, std::string_view tag, std::string_view id);
[[nodiscard]] std::string due_key(std::string_view prefix, std::string_view tag);
[[nodiscard]] std::string payload_key(std::string_view prefix, std::string_view tag);
[[nodiscard]] std::string letters_key(std::string_view prefix, std::string_view tag);
[[nodiscard]] std::string letter_ages_key(std::string_view prefix, std::string_view tag);
[[nodiscard]] std::string letter_names_key(std::string_view prefix, std::string_view tag);
[[nodiscard]] std::string claim_key(std::string_view prefix, std::string_view tag, std::string_view id);
[[nodiscard]] std::string claim_over_key(std::string_view prefix, std::string_view tag, std::string_view id);
[[nodiscard]] std::string claim_ages_key(std::string_view prefix, std::string_view tag);
[[nodiscard]] std::string claim_size_key(std::string_view prefix, std::string_view tag);

}  // namespace dripgate::broker::redis_streams
