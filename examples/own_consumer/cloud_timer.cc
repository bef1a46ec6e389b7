#include "cloud_timer.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <openssl/sha.h>

#include "cloudtasks.grpc.pb.h"

namespace {

namespace wire = google::cloud::tasks::v2;
using namespace std::chrono_literals;

constexpr auto kCallDeadline = 10s;
constexpr int kCallsMax = 10;
constexpr auto kBackoffMin = 50ms;
constexpr auto kBackoffMax = 5000ms;

/// Of the booking alone, so that a task is asked for again under its name; the hash stands in front because
/// Cloud Tasks spreads its load by the beginning of names.
std::string task_id(const dripgate::Ticket& ticket) {
  unsigned char hash[SHA256_DIGEST_LENGTH];
  ::SHA256(reinterpret_cast<const unsigned char*>(ticket.event_id.data()), ticket.event_id.size(), hash);
  std::string id;
  for (const unsigned char byte : hash) {
    id += "0123456789abcdef"[byte >> 4];
    id += "0123456789abcdef"[byte & 15];
  }
  return id + "-" + std::to_string(ticket.generation);
}

/// The task may be there or not, or the quota is used up for now.
bool ask_again(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::UNKNOWN:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::UNAVAILABLE:
      return true;
    default:
      return false;
  }
}

}  // namespace

struct CloudTimer::Api {
  std::unique_ptr<wire::CloudTasks::Stub> stub;
};

CloudTimer::CloudTimer(CloudTimerOptions options)
    : options_(std::move(options)), api_(std::make_unique<Api>()) {
  const bool google = options_.emulator.empty();
  const auto credentials = google ? grpc::GoogleDefaultCredentials() : grpc::InsecureChannelCredentials();
  if (credentials == nullptr) throw std::runtime_error("there are no Google credentials on this machine");
  api_->stub = wire::CloudTasks::NewStub(
      grpc::CreateChannel(google ? "cloudtasks.googleapis.com:443" : options_.emulator, credentials));
}

CloudTimer::~CloudTimer() = default;

void CloudTimer::add(const dripgate::Ticket& ticket, const std::string& payload) {
  wire::CreateTaskRequest request;
  request.set_parent(options_.queue);
  wire::Task& task = *request.mutable_task();
  task.set_name(options_.queue + "/tasks/" + task_id(ticket));
  const auto slot = ticket.slot.time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(slot);
  task.mutable_schedule_time()->set_seconds(seconds.count());
  task.mutable_schedule_time()->set_nanos(static_cast<int>(std::chrono::nanoseconds{slot - seconds}.count()));
  wire::HttpRequest& http = *task.mutable_http_request();
  http.set_url(options_.target);
  http.set_http_method(wire::POST);
  http.set_body(payload);
  (*http.mutable_headers())["Content-Type"] = "application/json";
  (*http.mutable_headers())[kTicketHeader] = ticket.to_text();
  http.mutable_oidc_token()->set_service_account_email(options_.account);
  http.mutable_oidc_token()->set_audience(options_.target);

  std::string last;
  for (int call = 0; call < kCallsMax; ++call) {
    if (call > 0) std::this_thread::sleep_for(std::min(kBackoffMin * (1 << (call - 1)), kBackoffMax));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kCallDeadline);
    context.AddMetadata("x-goog-request-params", "parent=" + options_.queue);
    wire::Task made;
    const grpc::Status status = api_->stub->CreateTask(&context, request, &made);
    if (status.ok() || status.error_code() == grpc::StatusCode::ALREADY_EXISTS) return;
    last = status.error_message();
    if (!ask_again(status.error_code())) break;
  }
  throw std::runtime_error("Cloud Tasks: " + last);
}
