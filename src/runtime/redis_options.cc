#include "runtime/redis_options.h"

namespace dripgate::runtime {

redis::Options redis_options(const config::RedisStore& store) {
  redis::Options options;
  switch (store.layout) {
    case config::RedisStore::Layout::single:
      options.layout = redis::Options::Layout::single;
      break;
    case config::RedisStore::Layout::cluster:
      options.layout = redis::Options::Layout::cluster;
      break;
    case config::RedisStore::Layout::sentinel:
      options.layout = redis::Options::Layout::sentinel;
      break;
  }
  for (const config::Address& at : store.nodes) options.nodes.push_back({.host = at.host, .port = at.port});
  options.sentinel_master = store.sentinel_master;
  options.user = store.user;
  options.password = store.password;
  options.database = store.database;
  if (store.tls) {
    options.tls = net::ClientTls{
        .ca_file = store.tls->ca_file, .cert_file = store.tls->cert_file, .key_file = store.tls->key_file};
  }
  options.timeout = kStreamCallTimeout;
  return options;
}

}  // namespace dripgate::runtime
