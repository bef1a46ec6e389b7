#include "app/health.h"

#include <utility>

namespace dripgate::app {

void Health::raise(const std::string& cause, std::string sentence) {
  const std::scoped_lock lock(mutex_);
  faults_[cause] = std::move(sentence);
}

void Health::clear(const std::string& cause) {
  const std::scoped_lock lock(mutex_);
  faults_.erase(cause);
}

void Health::warn(std::string sentence) {
  const std::scoped_lock lock(mutex_);
  if (warnings_.size() < kWarningsMax) warnings_.push_back(std::move(sentence));
}

std::vector<std::string> Health::warnings() const {
  const std::scoped_lock lock(mutex_);
  return warnings_;
}

std::vector<std::string> Health::reasons() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> reasons;
  for (const auto& [cause, sentence] : faults_) reasons.push_back(cause + ": " + sentence);
  return reasons;
}

}  // namespace dripgate::app
