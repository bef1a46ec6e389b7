// StreamTimer: leases of what is in this process' hands.
#include <utility>

#include "broker/redis_streams/replies.h"
#include "broker/redis_streams/stream_timer.h"

namespace dripgate::broker::redis_streams {

// Also while paused: what is out stays ours until its deadline, and then fires again somewhere.
void StreamTimer::keep_round() {
  const auto deadline = context_->options.handling_deadline / kFiringKeepInterval;
  std::vector<std::vector<std::uint64_t>> tokens(shelves_.size());
  for (auto& [token, firing] : out_) {
    // Of this round: its lease has just begun.
    if (firing.rounds++ > 0) tokens[firing.shelf].push_back(token);
  }
  const std::size_t expired =
      std::erase_if(out_, [deadline](const auto& held) { return held.second.rounds > deadline + 1; });
  if (expired > 0) post_look();
  for (std::size_t i = 0; i < shelves_.size(); ++i) {
    if (!tokens[i].empty()) keep(i, std::move(tokens[i]));
  }
  context_->executor.post_after(kFiringKeepInterval, guard_.wrap([this] { keep_round(); }));
}

// At most kFiringsOutstandingMax: one call.
void StreamTimer::keep(std::size_t index, std::vector<std::uint64_t> tokens) {
  std::erase_if(tokens, [this](std::uint64_t token) { return !out_.contains(token); });
  const std::string lease = std::to_string(kFiringLease.count());
  const std::string_view keys[] = {shelves_[index].due_key};
  std::vector<std::string_view> arguments{lease};
  for (const std::uint64_t token : tokens) {
    arguments.emplace_back(out_.at(token).id);
    arguments.emplace_back(out_.at(token).lease_end);
  }
  context_->client.run(
      keep_script_, keys, arguments, context_->options.call_timeout,
      guard_.wrap([this, of = std::move(tokens)](const Result<redis::Reply>& reply) { kept(of, reply); }));
}

void StreamTimer::kept(const std::vector<std::uint64_t>& tokens, const Result<redis::Reply>& reply) {
  const auto* items = reply ? reply->items() : nullptr;
  if (items == nullptr || items->size() != tokens.size() + 1) return;
  const std::string lease_end(text_at(*reply, 0));
  for (std::size_t n = 0; n < tokens.size(); ++n) {
    const auto firing = out_.find(tokens[n]);
    const std::int64_t* ours = (*items)[n + 1].integer();
    if (firing != out_.end() && ours != nullptr && *ours == 1) firing->second.lease_end = lease_end;
  }
}

}  // namespace dripgate::broker::redis_streams
