// TasksApi over gRPC. Its threads hand the status on to the executor and never wait. Calls still open at the
// end are cancelled and waited for; their answers are not given.
#include "broker/cloud_tasks/tasks_api.h"

#include <condition_variable>
#include <mutex>
#include <unordered_set>

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include "google/cloud/tasks/v2/cloudtasks.grpc.pb.h"

namespace dripgate::broker::cloud_tasks {
namespace {

namespace wire = google::cloud::tasks::v2;

static_assert(kAlreadyExists == static_cast<int>(grpc::StatusCode::ALREADY_EXISTS));
static_assert(kUnauthenticated == static_cast<int>(grpc::StatusCode::UNAUTHENTICATED));

google::protobuf::Timestamp to_wire(WallTime time) {
  google::protobuf::Timestamp stamp;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  stamp.set_seconds(seconds.time_since_epoch().count());
  stamp.set_nanos(static_cast<int>((time - seconds) / Duration{1}) * 1000);
  return stamp;
}

wire::CreateTaskRequest to_wire(const Task& task) {
  wire::CreateTaskRequest request;
  request.set_parent(task.queue);
  wire::Task& out = *request.mutable_task();
  out.set_name(task.name());
  *out.mutable_schedule_time() = to_wire(task.due);
  out.mutable_dispatch_deadline()->set_seconds(kDispatchDeadline / 1s);
  wire::HttpRequest& http = *out.mutable_http_request();
  http.set_url(task.url);
  http.set_http_method(wire::POST);
  for (const auto& [name, value] : task.headers) (*http.mutable_headers())[name] = value;
  http.set_body(task.body);
  http.mutable_oidc_token()->set_service_account_email(task.service_account);
  http.mutable_oidc_token()->set_audience(task.audience);
  return request;
}

/// "projects/p" as the value of a request parameter.
std::string escaped(std::string_view name) {
  std::string out;
  for (const char c : name) c == '/' ? void(out += "%2F") : void(out += c);
  return out;
}

class GrpcTasksApi final : public TasksApi {
 public:
  GrpcTasksApi(std::shared_ptr<grpc::Channel> channel, Executor& executor)
      : executor_(executor), stub_(wire::CloudTasks::NewStub(std::move(channel))) {}

  ~GrpcTasksApi() override {
    std::unique_lock lock(mutex_);
    ended_ = true;
    // Not under the lock: a call may end inside TryCancel.
    const auto cancelled = open_;
    lock.unlock();
    for (const auto& call : cancelled) call->context.TryCancel();
    lock.lock();
    idle_.wait(lock, [this] { return open_.empty(); });
  }

  void create(const Task& task, Answer done) override {
    auto call = begin<wire::CreateTaskRequest, wire::Task>("parent", task.queue, std::move(done));
    call->request = to_wire(task);
    auto* kept = call.get();
    stub_->async()->CreateTask(&kept->context, &kept->request, &kept->response,
                               [this, call](const grpc::Status& status) { finish(call, status); });
  }

  void look(const std::string& queue, Answer done) override {
    auto call = begin<wire::GetQueueRequest, wire::Queue>("name", queue, std::move(done));
    call->request.set_name(queue);
    auto* kept = call.get();
    stub_->async()->GetQueue(&kept->context, &kept->request, &kept->response,
                             [this, call](const grpc::Status& status) { finish(call, status); });
  }

 private:
  struct Call {
    grpc::ClientContext context;
    Answer done;
  };
  template <class Request, class Response>
  struct TypedCall : Call {
    Request request;
    Response response;
  };

  template <class Request, class Response>
  std::shared_ptr<TypedCall<Request, Response>> begin(const char* parameter, const std::string& value,
                                                      Answer done) {
    auto call = std::make_shared<TypedCall<Request, Response>>();
    call->context.set_deadline(gpr_time_from_micros(kCallDeadline.count(), GPR_TIMESPAN));
    call->context.AddMetadata("x-goog-request-params", std::string(parameter) + "=" + escaped(value));
    call->done = std::move(done);
    const std::scoped_lock lock(mutex_);
    open_.insert(call);
    return call;
  }

  // On a thread of gRPC. The last thing that touches this object is the unlocking.
  void finish(const std::shared_ptr<Call>& call, const grpc::Status& status) {
    const std::scoped_lock lock(mutex_);
    open_.erase(call);
    if (ended_) {
      if (open_.empty()) idle_.notify_all();
      return;
    }
    executor_.post([done = std::move(call->done), answer = CallStatus{static_cast<int>(status.error_code()),
                                                                      status.error_message()}]() mutable {
      done(std::move(answer));
    });
  }

  Executor& executor_;
  std::unique_ptr<wire::CloudTasks::Stub> stub_;
  std::mutex mutex_;
  std::condition_variable idle_;
  std::unordered_set<std::shared_ptr<Call>> open_;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<TasksApi> make_tasks_api(std::shared_ptr<grpc::Channel> channel, Executor& executor) {
  return std::make_unique<GrpcTasksApi>(std::move(channel), executor);
}

}  // namespace dripgate::broker::cloud_tasks
