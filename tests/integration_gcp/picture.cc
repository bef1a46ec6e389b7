#include "integration_gcp/picture.h"

#include <future>
#include <sstream>

#include "base/rfc3339.h"
#include "broker/attribute_names.h"
#include "http/client.h"
#include "http/server.h"

namespace dripgate::integration {
namespace {

/// A port that was free may be taken by the time that a part wants it again.
constexpr int kStartsMax = 10;

std::string own_name(const std::string& name) {
  static int number = 0;
  return name + "-" + std::to_string(++number);
}

}  // namespace

RecordingSink::RecordingSink() {
  server_ = *http::Server::listen({}, {&loop_}, [this](http::Request request, http::Reply reply) {
    const auto header = [&](std::string_view name) {
      return std::string(http::value_of(request.headers, name));
    };
    SinkCall call{.id = header(broker::kIdAttribute),
                  .key = header(broker::kKeyAttribute),
                  .slot = header(broker::kSlotAttribute),
                  .released = header(broker::kReleasedAttribute),
                  .body = std::move(request.body)};
    {
      const std::scoped_lock lock(mutex_);
      call.answered = !asked_ || asked_(call);
      if (call.answered) ids_.insert(call.id);
      calls_.push_back(call);
    }
    reply({.status = call.answered ? 200 : 503});
  });
  thread_ = std::thread([this] { loop_.run(); });
}

RecordingSink::~RecordingSink() {
  std::promise<void> stopped;
  loop_.post([&] { server_->stop(Duration{0}, [&] { stopped.set_value(); }); });
  stopped.get_future().wait();
  loop_.stop();
  thread_.join();
}

std::uint16_t RecordingSink::port() const {
  return server_->port();
}

std::vector<SinkCall> RecordingSink::calls() const {
  const std::scoped_lock lock(mutex_);
  return calls_;
}

std::set<std::string> RecordingSink::ids() const {
  const std::scoped_lock lock(mutex_);
  return ids_;
}

std::size_t RecordingSink::distinct() const {
  const std::scoped_lock lock(mutex_);
  return ids_.size();
}

void RecordingSink::confirm(std::function<bool(const SinkCall&)> asked) {
  const std::scoped_lock lock(mutex_);
  asked_ = std::move(asked);
}

Picture::Picture(Server& pubsub, PicturePlan plan)
    : source(own_name("payout-events")),
      overflow(own_name("payout-events-overflow")),
      dead_letters(own_name("payout-events-dlq")),
      side(pubsub),
      pubsub_(pubsub) {
  write_config(plan);
}

Picture::~Picture() {
  parts_.clear();
  const std::string text = log();
  for (const char* mark : {"Sanitizer", "runtime error"})
    EXPECT_EQ(text.find(mark), std::string::npos) << text;
}

void Picture::write_config(const PicturePlan& plan) {
  write_file(
      folder.path("dripgate.yaml"),
      "store: { redis: { url: \"redis://" + redis.address() +
          "\" } }\n"
          "gcp:\n"
          "  project: " +
          std::string(kProject) + "\n  pubsub: { endpoint: \"" + pubsub_.endpoint() +
          "\", plaintext: true }\n  cloudTasks: { endpoint: \"" + tasks.endpoint() +
          "\", plaintext: true }\n  tokens: { issuer: \"" + tasks.issuer() + "\", keys: \"" +
          tasks.keys_url() + "\" }\nstreams:\n  - id: " + kStream + "\n    source: { pubsub: " + source +
          " }\n    eventId: \"{payoutId}\"\n    key: \"merchant_{merchant_id}:payout\"\n    limits: " +
          plan.limits + "\n    spread: start\n    maxDelay: " + plan.max_delay +
          "\n    timer: { cloudTasks: { location: asia-south1, queues: [payouts-1, payouts-2], target: \"" +
          dispatcher_url() + "\", serviceAccount: " + kAccount + ", audience: \"" + kAudience +
          "\" } }\n    overflowTopic: " + overflow + "\n    deadLetterTopic: " + dead_letters +
          "\n    deliver: { http: \"http://127.0.0.1:" + std::to_string(sink.port()) +
          "/payouts\", timeout: 10s }\n");
}

Process& Picture::start(const std::string& name) {
  const std::string verb = name.substr(0, name.find('-'));
  std::vector<std::string> words{verb, "-c", folder.path("dripgate.yaml"), "--create"};
  if (verb == "dispatch") words.insert(words.end(), {"--port", std::to_string(dispatch_port_)});
  std::unique_ptr<Process>& process = parts_[name];
  for (int i = 0; i < kStartsMax; ++i) {
    process.reset();
    logs_.push_back(folder.path(name + "-" + std::to_string(logs_.size()) + ".log"));
    process = std::make_unique<Process>(words, logs_.back());
    const bool up = eventually([&] { return !port_of(name).empty() || !process->running(); });
    if (up && process->running()) return *process;
  }
  ADD_FAILURE() << name << " does not start: " << process->err();
  return *process;
}

void Picture::start_all() {
  for (const char* name : {"worker", "dispatch", "consume"}) start(name);
}

std::string Picture::log() const {
  std::string text;
  for (const std::string& file : logs_) text += read_file(file + ".err");
  return text;
}

std::string Picture::port_of(const std::string& part) const {
  const std::string text = parts_.at(part)->err();
  const std::string mark = "listen=127.0.0.1:";
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + mark.size();
  return text.substr(begin, text.find_first_not_of("0123456789", begin) - begin);
}

void Picture::publish(const std::vector<std::string>& bodies) {
  std::vector<broker::Message> messages;
  for (const std::string& body : bodies) messages.push_back({"", body, {}, {}});
  side.publish(source, std::move(messages));
}

std::string Picture::metrics(const std::string& part) {
  net::IoLoop loop;
  auto client = http::Client::make(loop, *http::parse_url("http://127.0.0.1:" + port_of(part)), {});
  std::optional<std::string> text;
  (*client)->send({.method = "GET", .target = "/metrics", .answer_bytes_max = 1 << 20},
                  [&](const Result<http::Response>& got) { text = got ? got->body : std::string(); });
  while (!text) loop.run_for(std::chrono::milliseconds{1});
  return *text;
}

double Picture::metric(const std::string& part, const std::string& name, const std::string& label) {
  std::istringstream lines(metrics(part));
  double sum = 0;
  for (std::string line; std::getline(lines, line);) {
    const bool ours = line.starts_with(name + "{") || line.starts_with(name + " ");
    if (ours && line.find(label) != std::string::npos) sum += std::stod(line.substr(line.rfind(' ') + 1));
  }
  return sum;
}

std::map<std::string, std::map<std::int64_t, std::size_t>> Picture::windows(Duration window) const {
  std::set<std::pair<std::string, std::string>> seen;
  std::map<std::string, std::map<std::int64_t, std::size_t>> windows;
  for (const SinkCall& call : sink.calls()) {
    const auto released = parse_rfc3339(call.released);
    if (!released) {
      ADD_FAILURE() << "released: " << call.released;
      continue;
    }
    if (seen.insert({call.id, call.released}).second)
      ++windows[call.key][released->time_since_epoch() / window];
  }
  return windows;
}

std::size_t Picture::fullest(Duration window) const {
  std::size_t most = 0;
  for (const auto& [key, counts] : windows(window)) {
    for (const auto& [at, count] : counts) most = std::max(most, count);
  }
  return most;
}

std::string odd_payout(int number, const std::string& merchant, const std::string& prefix) {
  return "{\"payoutId\": \"" + prefix + std::to_string(number) + R"(", "merchant_id":")" + merchant +
         R"(",  "amount": 2500.00, "currency": "INR"})";
}

std::vector<std::string> odd_payouts(int count, const std::string& merchant, const std::string& prefix) {
  std::vector<std::string> bodies;
  for (int i = 0; i < count; ++i) bodies.push_back(odd_payout(i, merchant, prefix));
  return bodies;
}

}  // namespace dripgate::integration
