// Wakeups: who waits for messages of a topic. A publisher wakes them; each posts its own look, so that
// nobody is called inside a publish. Shared by the topics of one process; on their executor.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dripgate::broker {

class Listener {
 public:
  virtual ~Listener() = default;
  /// Posts work; calls nobody.
  virtual void wake() = 0;
};

class Wakeups {
 public:
  /// Those who listen to one topic; publishers and sources of it share this list.
  using Listeners = std::vector<Listener*>;

  [[nodiscard]] std::shared_ptr<Listeners> of(const std::string& topic) {
    std::shared_ptr<Listeners>& listeners = topics_[topic];
    if (listeners == nullptr) listeners = std::make_shared<Listeners>();
    return listeners;
  }

 private:
  std::map<std::string, std::shared_ptr<Listeners>> topics_;
};

}  // namespace dripgate::broker
