#include "broker/gcp/channels.h"

#include <fstream>
#include <sstream>

#include <absl/synchronization/mutex.h>
#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

namespace dripgate::broker::gcp {
namespace {

/// What a message of Pub/Sub (10 MB) or a batch of them takes at most, with room.
constexpr int kMessageBytesMax = 20 << 20;
/// Reasons of a failed call for 2,500 ack ids come as metadata; the library's own bound is 8 KiB.
constexpr int kMetadataBytesMax = 4 << 20;
/// As Google's own clients: more often and its servers say GOAWAY (too_many_pings).
constexpr int kKeepaliveEveryMs = 5 * 60 * 1000;
constexpr int kKeepaliveAnswerMs = 20 * 1000;

constexpr const char* kKeyFile = "GOOGLE_APPLICATION_CREDENTIALS";
/// Kinds of credentials that libgrpc 1.51 has no code for.
constexpr std::string_view kUnknownKind = "impersonated_service_account";

/// Why there are none, as far as the file that the environment names can tell.
std::string missing(const Environment& environment) {
  const std::string accepted =
      "; accepted: a key file named by GOOGLE_APPLICATION_CREDENTIALS, the file that `gcloud auth "
      "application-default login` writes, or a service account of the machine (Workload Identity)";
  const auto path = environment ? environment(kKeyFile) : std::nullopt;
  if (!path) return "there are no Google credentials on this machine" + accepted;
  std::ifstream file(*path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return "the credentials file " + *path + " (" + kKeyFile + ") cannot be read" + accepted;
  if (text.str().find(kUnknownKind) != std::string::npos) {
    return "the credentials file " + *path +
           " is of the kind impersonated_service_account, which this build cannot use" + accepted;
  }
  return "the credentials file " + *path +
         " is broken or of a kind that this build cannot use (an external account that asks an executable, "
         "for one)" +
         accepted;
}

/// Null: there are none. The library's own log line would stand before our sentence.
std::shared_ptr<grpc::ChannelCredentials> default_credentials() {
  constexpr auto kSilent = static_cast<gpr_log_severity>(GPR_LOG_SEVERITY_ERROR + 1);
  gpr_set_log_verbosity(kSilent);
  auto found = grpc::GoogleDefaultCredentials();
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
  return found;
}

}  // namespace

Result<std::shared_ptr<grpc::Channel>> open_channel(const Endpoint& endpoint, int number,
                                                    const Environment& environment) {
  const auto credentials = endpoint.plaintext ? grpc::InsecureChannelCredentials() : default_credentials();
  if (credentials == nullptr) return fail(ErrorCode::invalid_argument, "gcp: " + missing(environment));
  // Debian's build of the library keeps a graph of who locks what while whom, under a lock of its own.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
  arguments.SetMaxSendMessageSize(kMessageBytesMax);
  arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, kMetadataBytesMax);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveEveryMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveAnswerMs);
  // Channels of equal arguments to one target would share a connection.
  arguments.SetInt("dripgate.channel", number);
  arguments.SetUserAgentPrefix("dripgate");
  return grpc::CreateCustomChannel(endpoint.target, credentials, arguments);
}

LibraryEnd::~LibraryEnd() {
  constexpr std::int64_t kLookEveryMs = 1;
  const auto now = [] { return gpr_now(GPR_CLOCK_MONOTONIC); };
  const gpr_timespec end = gpr_time_add(now(), gpr_time_from_micros(kLibraryEndWait.count(), GPR_TIMESPAN));
  while (grpc_is_initialized() != 0 && gpr_time_cmp(now(), end) < 0)
    gpr_sleep_until(gpr_time_add(now(), gpr_time_from_millis(kLookEveryMs, GPR_TIMESPAN)));
}

}  // namespace dripgate::broker::gcp
