// An nginx that asks a server on loopback before it answers: the files of deploy/nginx with other ports, and
// a file in place of the app, so that what is measured is the question.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <time.h>
#include <unistd.h>

#include "support/redis/child_process.h"
#include "support/redis/redis_server.h"
#include "support/scratch_folder.h"

namespace dripgate::bench {

inline constexpr const char* kNginx = "/usr/sbin/nginx";

class NginxFront {
 public:
  static bool installed() { return ::access(kNginx, X_OK) == 0; }

  explicit NginxFront(std::uint16_t limiter)
      : port_(testing::free_port()),
        configured_(configure(limiter)),
        process_({kNginx, "-p", folder_.path(""), "-e", "stderr", "-c", folder_.path("nginx.conf"), "-g",
                  "master_process off; user root;"},
                 {}, folder_.path("log")) {}

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] double cpu_ns() const {
    clockid_t clock{};
    timespec now{};
    if (clock_getcpuclockid(process_.pid(), &clock) != 0 || clock_gettime(clock, &now) != 0) std::abort();
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
  }
  [[nodiscard]] std::string log() const { return read(folder_.path("log")); }

 private:
  static std::string read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  static void replace(std::string& text, const std::string& what, const std::string& by) {
    if (!text.contains(what)) {
      std::fprintf(stderr, "nginx_front: deploy/nginx/nginx.conf no longer has '%s'\n", what.c_str());
      std::abort();
    }
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
      text.replace(at, what.size(), by);
  }
  bool configure(std::uint16_t limiter) const {
    const std::string example = DRIPGATE_SOURCE_DIR "/deploy/nginx/";
    std::string config = read(example + "nginx.conf");
    replace(config, "127.0.0.1:8000", "127.0.0.1:" + std::to_string(port_));
    replace(config, "127.0.0.1:8001", "127.0.0.1:" + std::to_string(testing::free_port()));
    replace(config, "127.0.0.1:8080", "127.0.0.1:" + std::to_string(limiter));
    replace(config, "proxy_pass http://app;", "root " + folder_.path("") + ";");
    replace(config, "access_log off;", "access_log off; keepalive_requests 1000000000;");
    std::ofstream(folder_.path("nginx.conf")) << config;
    for (const char* part : {"dripgate.conf", "dripgate_ask.conf"})
      std::ofstream(folder_.path(part)) << read(example + part);
    std::ofstream(folder_.path("orders")) << "the app";
    return true;
  }

  testing::ScratchFolder folder_;
  std::uint16_t port_;
  bool configured_;
  testing::ChildProcess process_;
};

}  // namespace dripgate::bench
