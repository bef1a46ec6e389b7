#include "embed/host.h"

#include <utility>

#include "embed/answer.h"
#include "embed/code_config.h"
#include "store/memory/stores.h"

namespace dripgate::v1 {

Store::Impl::Impl() : local_vendors_(store::make_memory_vendor_store(steady_)) {}

void Store::Impl::start(Task end_turn) {
  loop_.start(std::move(end_turn));
  loop_.run([this] { thread_ = std::this_thread::get_id(); });
}

void Store::Impl::stop() {
  leave();
  loop_.stop();
}

std::shared_ptr<Store::Impl> shared(std::unique_ptr<Store::Impl> host) {
  return {host.release(), [](Store::Impl* ended) {
            const auto end = [ended] {
              ended->stop();
              delete ended;
            };
            // A thread cannot wait for its own end: a callback that drops the last copy leaves that to
            // another.
            ended->here() ? std::thread(end).detach() : end();
          }};
}

Store::Store(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() = default;
Store::Store(const Store&) = default;
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(const Store&) = default;
Store& Store::operator=(Store&&) noexcept = default;

namespace {

Result<Store> opened(dripgate::Result<embed::HostPtr> host) {
  if (!host) return embed::outward(host.error());
  return Store(std::move(*host));
}

Result<Store> opened(dripgate::Result<config::Store> store) {
  if (!store) return embed::outward(store.error());
  return opened(embed::open_host(*store));
}

}  // namespace

Result<Store> Store::memory() {
  return opened(embed::open_memory_host());
}

Result<Store> Store::sqlite(const std::string& path) {
  return opened(embed::code_store(path));
}

Result<Store> Store::redis(const RedisOptions& options) {
  return opened(embed::code_store(options));
}

}  // namespace dripgate::v1

namespace dripgate::embed {

Result<HostPtr> open_host(const config::Store& store) {
  if (const auto* file = std::get_if<config::SqliteStore>(&store)) return open_file_host(*file);
  if (const auto* redis = std::get_if<config::RedisStore>(&store)) return open_redis_host(*redis);
  return open_memory_host();
}

}  // namespace dripgate::embed
