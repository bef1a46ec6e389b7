// TasksFake: Cloud Tasks as a server of the test's own process, on 127.0.0.1: gRPC to create tasks, an issuer
// of identity tokens with its keys over HTTP, and deliveries over real HTTP with a signed token. It checks
// what the real one is documented to check and does what a test asks it to do wrong. State lives on one
// thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/time.h"
#include "support/token_signer.h"

namespace dripgate::testing {

/// What goes wrong with one CreateTask.
struct CreateFault {
  int code = 0;             // a gRPC code: nothing is stored
  bool lose_reply = false;  // stored, and the answer is UNAVAILABLE
  Duration slow{};          // the answer comes later
};

/// A task as it was created.
struct FakeTask {
  std::string name;
  std::string url;
  std::map<std::string, std::string> headers;
  std::string body;
  WallTime due;
  std::string service_account;
  std::string audience;
};

struct TasksFaults {
  std::function<CreateFault(const FakeTask&)> create;
  std::function<Duration(const FakeTask&)> late;  // less than zero: early
  std::function<bool(const FakeTask&)> twice;     // delivered twice at once
  std::function<void(const FakeTask&)> told{};    // a moment after the answer to a CreateTask
};

struct TasksCounts {
  int created = 0;
  int existed = 0;             // ALREADY_EXISTS
  int refused = 0;             // any other code
  int attempts = 0;            // deliveries
  int redeliveries = 0;        // of these, not the first of their task
  std::map<int, int> answers;  // by HTTP status; 0: none
  std::size_t waiting = 0;     // tasks that are there now
};

class TasksFake {
 public:
  TasksFake();
  ~TasksFake();

  [[nodiscard]] std::string endpoint() const;  // "127.0.0.1:port" for gRPC, without TLS
  [[nodiscard]] std::string issuer() const;    // "http://127.0.0.1:port"
  [[nodiscard]] std::string keys_url() const;

  /// Signed by the issuer.
  [[nodiscard]] std::string token(const TokenClaims& claims) const;

  /// Replaces them; thread-safe, as everything here.
  void set(TasksFaults faults);
  /// gRPC answers UNAVAILABLE and nothing is delivered.
  void go_down(bool down);
  /// Delivers only while on.
  void deliver(bool on);
  /// On: of what is created from here on only the name is kept, and nothing is delivered.
  void forget(bool on);
  [[nodiscard]] TasksCounts counts();
  [[nodiscard]] std::map<std::string, FakeTask> tasks();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dripgate::testing
