// Task: see task.h.
#include "broker/cloud_tasks/task.h"

#include <algorithm>

#include <absl/strings/escaping.h>

#include "base/sha256.h"
#include "base/small_letters.h"
#include "broker/attributes_codec.h"
#include "broker/cloud_tasks/header_text.h"

namespace dripgate::broker::cloud_tasks {
namespace {

/// All attributes of the source in one header: their names have letters that a header's name cannot have.
constexpr std::string_view kSourceAttributes = "dripgate-source-attributes";
constexpr std::string_view kTaskName = "x-cloudtasks-taskname";
constexpr std::size_t kHashDigits = 32;
constexpr std::size_t kTaskIdBytesMax = 500;
/// Field tags, lengths, times and names of a task on the wire.
constexpr std::size_t kTaskFrameBytes = 256;
constexpr std::size_t kHeaderFrameBytes = 16;

bool is_task_id(std::string_view id) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  const std::string_view hash = id.substr(0, kHashDigits);
  return id.size() > kHashDigits && id.size() <= kTaskIdBytesMax && std::ranges::all_of(id, fits) &&
         hash.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::size_t bytes_of_headers(const Task& task) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : task.headers) bytes += name.size() + value.size() + kHeaderFrameBytes;
  return bytes;
}

void write_headers(const Attributes& attributes, Task& task) {
  Attributes source;
  for (const auto& [name, value] : attributes) {
    if (is_reserved(name)) {
      task.headers.emplace_back(name, to_header_text(value));
    } else {
      source.emplace_back(name, value);
    }
  }
  if (source.empty()) return;
  std::string bytes;
  std::string text;
  encode_attributes(source, bytes);
  absl::WebSafeBase64Escape(bytes, &text);
  task.headers.emplace_back(kSourceAttributes, std::move(text));
}

Attributes read_source_attributes(std::string_view text) {
  std::string bytes;
  if (!absl::WebSafeBase64Unescape({text.data(), text.size()}, &bytes)) return {};
  return decode_attributes(bytes).value_or(Attributes{});
}

std::unexpected<Error> too_large(std::string_view what, std::size_t bytes, std::size_t max) {
  return fail(ErrorCode::too_large, "the " + std::string(what) + " of its task would be " +
                                        std::to_string(bytes) + " bytes; accepted: at most " +
                                        std::to_string(max));
}

}  // namespace

std::string queue_name(const Options& options, std::size_t index) {
  return "projects/" + options.project + "/locations/" + options.location + "/queues/" +
         options.queues[index];
}

std::size_t queue_of(std::string_view entry_id, std::size_t queues) {
  return static_cast<std::size_t>(digest64(entry_id) % queues);
}

std::string task_id(std::string_view entry_id) {
  return is_task_id(entry_id) ? std::string(entry_id) : sha256_hex(entry_id);
}

std::size_t bytes_of(const Task& task) {
  return kTaskFrameBytes + task.name().size() + task.url.size() + task.service_account.size() +
         task.audience.size() + bytes_of_headers(task) + task.body.size();
}

Result<Task> make_task(const Options& options, TimerEntry entry, WallTime now) {
  Task task{.queue = queue_name(options, queue_of(entry.id, options.queues.size())),
            .id = task_id(entry.id),
            .url = options.target,
            .headers = {},
            .body = std::move(entry.message.body),
            .due = std::min(entry.due, now + kTaskAheadMax),
            .service_account = options.service_account,
            .audience = options.audience};
  // The service adds none. Our own enrichment is an object; what is no JSON travels as it came.
  task.headers.emplace_back("Content-Type",
                            task.body.starts_with('{') ? "application/json" : "application/octet-stream");
  write_headers(entry.message.attributes, task);
  if (const std::size_t bytes = bytes_of_headers(task); bytes > kTaskHeaderBytesMax)
    return too_large("headers", bytes, kTaskHeaderBytesMax);
  if (const std::size_t bytes = bytes_of(task); bytes > options.task_bytes_max)
    return too_large("size", bytes, options.task_bytes_max);
  return task;
}

TimerEntry read_task(const std::vector<std::pair<std::string, std::string>>& headers, std::string body) {
  TimerEntry entry;
  Attributes source;
  for (const auto& [raw, value] : headers) {
    const std::string name = small_letters(raw);
    if (name == kTaskName) {
      entry.id = value;
    } else if (name == kSourceAttributes) {
      source = read_source_attributes(value);
    } else if (is_reserved(name)) {
      if (auto text = from_header_text(value)) set(entry.message.attributes, name, *std::move(text));
    }
  }
  for (auto& attribute : source) {
    if (!is_reserved(attribute.first)) entry.message.attributes.push_back(std::move(attribute));
  }
  // A task that somebody else made: its body tells it from others.
  if (entry.id.empty()) entry.id = sha256_hex(body);
  entry.message.body = std::move(body);
  return entry;
}

}  // namespace dripgate::broker::cloud_tasks
