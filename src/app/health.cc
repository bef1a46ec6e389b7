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

void Health::warn(const std::string& source, std::vector<std::string> sentences) {
  if (sentences.size() > kWarningsMax) sentences.resize(kWarningsMax);
  const std::scoped_lock lock(mutex_);
  warnings_[source] = std::move(sentences);
}

void Health::config(server::ConfigState state) {
  const std::scoped_lock lock(mutex_);
  config_ = std::move(state);
}

std::vector<std::string> Health::warnings() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> all;
  for (const auto& [source, sentences] : warnings_) all.insert(all.end(), sentences.begin(), sentences.end());
  return all;
}

server::ConfigState Health::config() const {
  const std::scoped_lock lock(mutex_);
  return config_;
}

std::vector<std::string> Health::reasons() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> reasons;
  for (const auto& [cause, sentence] : faults_) reasons.push_back(cause + ": " + sentence);
  return reasons;
}

}  // namespace dripgate::app
