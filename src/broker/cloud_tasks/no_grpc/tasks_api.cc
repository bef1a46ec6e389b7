// A build without gRPC (DRIPGATE_GRPC=OFF) has no channel either (broker/gcp), so nobody comes here.
#include "broker/cloud_tasks/tasks_api.h"

namespace dripgate::broker::cloud_tasks {

std::unique_ptr<TasksApi> make_tasks_api(std::shared_ptr<grpc::Channel>, Executor&) {
  return nullptr;
}

}  // namespace dripgate::broker::cloud_tasks
