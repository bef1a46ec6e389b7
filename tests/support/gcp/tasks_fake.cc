#include "support/gcp/tasks_fake.h"

#include <algorithm>
#include <future>
#include <set>
#include <thread>

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include "base/cloud_tasks.h"
#include "google/cloud/tasks/v2/cloudtasks.grpc.pb.h"
#include "http/client.h"
#include "http/server.h"
#include "http/url.h"
#include "runtime/real_clock.h"

namespace dripgate::testing {
namespace {

namespace wire = google::cloud::tasks::v2;
using namespace std::chrono_literals;

constexpr std::size_t kTaskBytes = 100'000;
constexpr Duration kBackoffMin = 100ms;
constexpr Duration kBackoffMax = 10s;
/// Of a whole queue after a 429 or 503 without Retry-After.
constexpr Duration kSlowDown = 1s;
constexpr Duration kDeliveryDeadline = 60s;
/// Until an answer has surely left.
constexpr Duration kOnTheWire = 2ms;

WallTime from_wire(const google::protobuf::Timestamp& stamp) {
  return WallTime{std::chrono::seconds{stamp.seconds()}} + Duration{stamp.nanos() / 1000};
}

std::string queue_of(const std::string& task) {
  return task.substr(0, task.find("/tasks/"));
}

bool fits(std::string_view id) {
  return !id.empty() && id.size() <= 500 &&
         id.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") ==
             std::string_view::npos;
}

FakeTask read(const wire::Task& task) {
  const wire::HttpRequest& http = task.http_request();
  return {.name = task.name(),
          .url = http.url(),
          .headers = {http.headers().begin(), http.headers().end()},
          .body = http.body(),
          .due = from_wire(task.schedule_time()),
          .service_account = http.oidc_token().service_account_email(),
          .audience = http.oidc_token().audience()};
}

wire::Task write(const FakeTask& task) {
  wire::Task out;
  out.set_name(task.name);
  wire::HttpRequest& http = *out.mutable_http_request();
  http.set_url(task.url);
  http.set_http_method(wire::POST);
  http.mutable_headers()->insert(task.headers.begin(), task.headers.end());
  http.set_body(task.body);
  http.mutable_oidc_token()->set_service_account_email(task.service_account);
  http.mutable_oidc_token()->set_audience(task.audience);
  const std::int64_t due = to_us(task.due);
  out.mutable_schedule_time()->set_seconds(due / 1'000'000);
  out.mutable_schedule_time()->set_nanos(static_cast<int>(due % 1'000'000) * 1000);
  return out;
}

}  // namespace

struct TasksFake::Impl {
  struct Stored {
    FakeTask task;
    int attempts = 0;
    int failures = 0;
    std::uint64_t armed = 0;  // the send that counts
  };

  struct Bearer {
    WallTime issued;
    std::string text;
  };

  class Service final : public wire::CloudTasks::CallbackService {
   public:
    explicit Service(Impl& impl) : impl_(impl) {}
    grpc::ServerUnaryReactor* CreateTask(grpc::CallbackServerContext* context,
                                         const wire::CreateTaskRequest* request,
                                         wire::Task* response) override {
      auto* reactor = context->DefaultReactor();
      impl_.loop.post([this, reactor, request, response] { impl_.create(*request, *response, reactor); });
      return reactor;
    }
    grpc::ServerUnaryReactor* GetQueue(grpc::CallbackServerContext* context,
                                       const wire::GetQueueRequest* request, wire::Queue* response) override {
      auto* reactor = context->DefaultReactor();
      impl_.loop.post([this, reactor, request, response] {
        response->set_name(request->name());
        response->set_state(wire::Queue::RUNNING);
        reactor->Finish(impl_.down ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "down") : grpc::Status::OK);
      });
      return reactor;
    }
    grpc::ServerUnaryReactor* ListTasks(grpc::CallbackServerContext* context,
                                        const wire::ListTasksRequest* request,
                                        wire::ListTasksResponse* response) override {
      auto* reactor = context->DefaultReactor();
      impl_.loop.post([this, reactor, request, response] {
        for (const auto& [name, kept] : impl_.stored) {
          if (queue_of(name) == request->parent()) *response->add_tasks() = write(kept.task);
        }
        reactor->Finish(grpc::Status::OK);
      });
      return reactor;
    }
    grpc::ServerUnaryReactor* GetTask(grpc::CallbackServerContext* context,
                                      const wire::GetTaskRequest* request, wire::Task* response) override {
      auto* reactor = context->DefaultReactor();
      impl_.loop.post([this, reactor, request, response] {
        const auto found = impl_.stored.find(request->name());
        if (found != impl_.stored.end()) *response = write(found->second.task);
        reactor->Finish(found == impl_.stored.end()
                            ? grpc::Status(grpc::StatusCode::NOT_FOUND, "no such task")
                            : grpc::Status::OK);
      });
      return reactor;
    }

   private:
    Impl& impl_;
  };

  Impl() : service(*this) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service);
    server = builder.BuildAndStart();
    keys = *http::Server::listen({}, {&loop}, [this](const http::Request&, http::Reply reply) {
      reply({.status = 200,
             .headers = {{"Content-Type", "application/json"}, {"Cache-Control", "public, max-age=3600"}},
             .body = signer.jwks()});
    });
    thread = std::thread([this] { loop.run(); });
  }

  ~Impl() {
    server->Shutdown(std::chrono::system_clock::now());
    std::promise<void> stopped;
    loop.post([&] { keys->stop(0s, [&] { stopped.set_value(); }); });
    stopped.get_future().wait();
    loop.stop();
    thread.join();
  }

  template <class T>
  T ask(std::function<T()> question) {
    std::promise<T> answer;
    loop.post([&] { answer.set_value(question()); });
    return answer.get_future().get();
  }

  grpc::Status check(const wire::CreateTaskRequest& request, WallTime now) const {
    const wire::Task& task = request.task();
    const auto wrong = [](const char* what) {
      return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, what);
    };
    if (queue_of(task.name()) != request.parent() || !fits(task.name().substr(task.name().rfind('/') + 1)))
      return wrong("task name");
    if (task.ByteSizeLong() > kTaskBytes) return wrong("Task size too large");
    if (from_wire(task.schedule_time()) > now + std::chrono::hours{24 * 30}) return wrong("schedule_time");
    if (!task.http_request().oidc_token().service_account_email().contains('@')) return wrong("account");
    for (const auto& [name, value] : task.http_request().headers()) {
      if (value.find_first_of("\r\n") != std::string::npos) return wrong("header value");
    }
    return grpc::Status::OK;
  }

  void create(const wire::CreateTaskRequest& request, wire::Task& response,
              grpc::ServerUnaryReactor* reactor) {
    const FakeTask task = read(request.task());
    const CreateFault fault = faults.create ? faults.create(task) : CreateFault{};
    grpc::Status status = check(request, clock.now());
    if (down) status = {grpc::StatusCode::UNAVAILABLE, "down"};
    if (status.ok() && fault.code != 0) status = {static_cast<grpc::StatusCode>(fault.code), "as asked for"};
    if (status.ok() && !names.insert(task.name).second) {
      status = {grpc::StatusCode::ALREADY_EXISTS, "Requested entity already exists"};
      ++counts.existed;
    } else if (status.ok()) {
      ++counts.created;
      if (!forgets) {
        stored[task.name] = {.task = task};
        arm(task.name, task.due - clock.now() + (faults.late ? faults.late(task) : 0us));
      }
      response.set_name(task.name);
    } else {
      ++counts.refused;
    }
    if (fault.lose_reply) status = {grpc::StatusCode::UNAVAILABLE, "the reply was lost"};
    loop.post_after(fault.slow, [this, reactor, status, task] {
      reactor->Finish(status);
      if (faults.told) loop.post_after(kOnTheWire, [told = faults.told, task] { told(task); });
    });
  }

  void arm(const std::string& name, Duration wait) {
    const std::uint64_t number = ++stored.at(name).armed;
    loop.post_after(std::max(wait, Duration{0}), [this, name, number] { send(name, number); });
  }

  void send(const std::string& name, std::uint64_t number) {
    const auto found = stored.find(name);
    if (found == stored.end() || found->second.armed != number) return;
    const Duration slow = slow_until[queue_of(name)] - clock.now();
    if (down || !delivers || slow > 0s) return arm(name, std::max(slow, kBackoffMin));
    const bool again = faults.twice && faults.twice(found->second.task);
    attempt(found->second, number);
    if (again) attempt(found->second, number);
  }

  void attempt(Stored& kept, std::uint64_t number) {
    const FakeTask& task = kept.task;
    ++counts.attempts;
    if (kept.attempts++ > 0) ++counts.redeliveries;
    const auto url = *http::parse_url(task.url);
    http::Headers headers(task.headers.begin(), task.headers.end());
    headers.emplace_back("User-Agent", "Google-Cloud-Tasks");
    headers.emplace_back("X-CloudTasks-QueueName",
                         queue_of(task.name).substr(queue_of(task.name).rfind('/') + 1));
    headers.emplace_back("X-CloudTasks-TaskName", task.name.substr(task.name.rfind('/') + 1));
    headers.emplace_back("X-CloudTasks-TaskRetryCount", std::to_string(kept.attempts - 1));
    headers.emplace_back("Authorization", bearer_of(task));
    client_of(url).send({.method = "POST",
                         .target = url.target,
                         .headers = std::move(headers),
                         .body = task.body,
                         .timeout = kDeliveryDeadline},
                        [this, name = task.name, number](const Result<http::Response>& answer) {
                          answered(name, number, answer);
                        });
  }

  void answered(const std::string& name, std::uint64_t number, const Result<http::Response>& answer) {
    const int status = answer ? answer->status : 0;
    ++counts.answers[status];
    const auto found = stored.find(name);
    if (found == stored.end() || found->second.armed != number) return;
    if (status / 100 == 2) {
      stored.erase(found);
      return;
    }
    if (status == 429 || status == 503) {
      const std::string_view hint = http::value_of(answer->headers, "Retry-After");
      const Duration span = hint.empty() ? kSlowDown : std::chrono::seconds{std::stoi(std::string(hint))};
      slow_until[queue_of(name)] = clock.now() + span;
    }
    const int doublings = std::min(found->second.failures++, 10);
    arm(name, std::min(kBackoffMin * (1 << doublings), kBackoffMax));
  }

  /// Signed anew once a minute: a signature costs more than all the rest of a delivery.
  const std::string& bearer_of(const FakeTask& task) {
    Bearer& bearer = bearers[task.audience + " " + task.service_account];
    if (bearer.text.empty() || clock.now() - bearer.issued > 1min) {
      bearer.issued = clock.now();
      bearer.text = "Bearer " + signer.sign({.issuer = issuer(),
                                             .audience = task.audience,
                                             .email = task.service_account,
                                             .issued = bearer.issued});
    }
    return bearer.text;
  }

  http::Client& client_of(const http::Url& url) {
    auto& client = clients[url.authority()];
    if (client == nullptr) client = *http::Client::make(loop, url, {});
    return *client;
  }
  std::string issuer() const { return "http://127.0.0.1:" + std::to_string(keys->port()); }

  net::IoLoop loop;
  runtime::RealClock clock;
  TokenSigner signer{"fake-key-1"};
  TasksFaults faults;
  TasksCounts counts;
  bool down = false;
  bool delivers = true;
  bool forgets = false;
  std::map<std::string, Stored> stored;
  std::set<std::string> names;
  std::map<std::string, WallTime> slow_until;
  std::map<std::string, Bearer> bearers;  // by whose it is
  std::map<std::string, std::unique_ptr<http::Client>> clients;
  Service service;
  int port = 0;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<http::Server> keys;
  std::thread thread;
};

TasksFake::TasksFake() : impl_(std::make_unique<Impl>()) {}
TasksFake::~TasksFake() = default;

std::string TasksFake::endpoint() const {
  return "127.0.0.1:" + std::to_string(impl_->port);
}
std::string TasksFake::issuer() const {
  return impl_->issuer();
}
std::string TasksFake::keys_url() const {
  return impl_->issuer() + "/jwks";
}
std::string TasksFake::token(const TokenClaims& claims) const {
  return impl_->signer.sign(claims);
}
void TasksFake::set(TasksFaults faults) {
  impl_->ask<bool>([&] {
    impl_->faults = std::move(faults);
    return true;
  });
}
void TasksFake::go_down(bool down) {
  impl_->ask<bool>([&] { return impl_->down = down; });
}
void TasksFake::deliver(bool on) {
  impl_->ask<bool>([&] { return impl_->delivers = on; });
}
void TasksFake::forget(bool on) {
  impl_->ask<bool>([&] { return impl_->forgets = on; });
}
TasksCounts TasksFake::counts() {
  return impl_->ask<TasksCounts>([&] {
    TasksCounts counts = impl_->counts;
    counts.waiting = impl_->stored.size();
    return counts;
  });
}
std::map<std::string, FakeTask> TasksFake::tasks() {
  return impl_->ask<std::map<std::string, FakeTask>>([&] {
    std::map<std::string, FakeTask> all;
    for (const auto& [name, kept] : impl_->stored) all[name] = kept.task;
    return all;
  });
}

}  // namespace dripgate::testing
