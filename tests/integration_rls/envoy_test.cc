// A real Envoy with its rate limit filter, on the very files of deploy/envoy with other ports.
#include <csignal>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "integration_rls/site.h"

namespace dripgate::integration {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// `./dev test` puts it there.
const std::string kEnvoy = DRIPGATE_SOURCE_DIR "/build/envoy/envoy";
const std::string kExample = DRIPGATE_SOURCE_DIR "/deploy/envoy/";

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  if (at != std::string::npos) text.replace(at, what.size(), by);
  return text;
}

/// What an HTTP/1.1 server answers to one request, head and body; empty: no answer.
std::string answer_of(const std::string& port, const std::string& request) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval patience{.tv_sec = 30, .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::string answer;
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
      ::send(socket, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
    char buffer[4096];
    for (ssize_t n = 0; (n = ::recv(socket, buffer, sizeof buffer, 0)) > 0;) answer.append(buffer, n);
  }
  ::close(socket);
  return answer;
}

std::string status_of(const std::string& answer) {
  return answer.size() < 12 ? "none" : answer.substr(9, 3);
}

/// Dripgate, an app (`dripgate sink`) and Envoy between them. `changes` to envoy.yaml.
class Edge {
 public:
  explicit Edge(const std::vector<std::pair<std::string, std::string>>& changes = {})
      : site(replaced(replaced(read_file(kExample + "dripgate.yaml"), "127.0.0.1:8080", "127.0.0.1:0"),
                      "127.0.0.1:8081", "127.0.0.1:0")) {
    app = std::make_unique<Process>(
        std::vector<std::string>{"sink", "--listen", "127.0.0.1:0", "--log", site.folder.path("app.log")},
        site.folder.path("app"));
    std::string app_port;
    EXPECT_TRUE(eventually([&] { return !(app_port = port_after(app->err(), "listens on ")).empty(); }));
    std::string config = read_file(kExample + "envoy.yaml");
    config = replaced(config, "port_value: 10000", "port_value: 0");
    config = replaced(config, "port_value: 9000", "port_value: " + app_port);
    config = replaced(config, "port_value: 8081", "port_value: " + site.rls_port);
    for (const auto& [what, by] : changes) config = replaced(config, what, by);
    write_file(site.folder.path("envoy.yaml"),
               config + "admin: { address: { socket_address: { address: 127.0.0.1, port_value: 0 } } }\n");
    envoy = std::make_unique<Process>(
        std::vector<std::string>{"-c", site.folder.path("envoy.yaml"), "--use-dynamic-base-id",
                                 "--concurrency", "1", "--admin-address-path", site.folder.path("admin")},
        site.folder.path("envoy"), kEnvoy);
    EXPECT_TRUE(eventually([&] { return listening() || !envoy->running(); })) << envoy->err();
    EXPECT_FALSE(port.empty()) << envoy->err();
  }

  std::string get(const std::string& path, const std::string& headers = "",
                  const std::string& method = "GET") {
    return answer_of(port, method + " " + path + " HTTP/1.1\r\nHost: app\r\nConnection: close\r\n" + headers +
                               (method == "POST" ? "Content-Length: 0\r\n\r\n" : "\r\n"));
  }
  std::string metrics() {
    return answer_of(site.http_port, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  }

  Site site;
  std::unique_ptr<Process> app;
  std::unique_ptr<Process> envoy;
  std::string port;

 private:
  /// Where the listener came to be, and Dripgate counted as healthy.
  bool listening() {
    const std::string admin = read_file(site.folder.path("admin"));
    if (admin.find(':') == std::string::npos) return false;
    const auto ask = [&](const std::string& path) {
      return answer_of(admin.substr(admin.find(':') + 1),
                       "GET " + path + " HTTP/1.1\r\nHost: admin\r\nConnection: close\r\n\r\n");
    };
    std::smatch found;
    const std::string listeners = ask("/listeners");
    if (!std::regex_search(listeners, found, std::regex("edge::127\\.0\\.0\\.1:([1-9][0-9]*)"))) return false;
    port = found[1];
    return ask("/stats?filter=cluster.dripgate.health_check.success").find("success: 0") == std::string::npos;
  }
};

class Envoy : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::access(kEnvoy.c_str(), X_OK) != 0)
      GTEST_SKIP() << "no Envoy at build/envoy/envoy: ./dev test installs it";
  }
};

TEST_F(Envoy, TwentyPassAtOnceAndTheNextIsRefusedWithTheWholeContract) {
  Edge edge;
  const std::string free = "x-plan: free\r\nx-api-key: k1\r\n";
  for (int left = 19; left >= 0; --left) {
    const std::string answer = edge.get("/orders", free);
    ASSERT_EQ(status_of(answer), "200") << answer;
    EXPECT_THAT(answer, HasSubstr("ratelimit-policy: \"api-free\";q=100;w=60"));
    EXPECT_THAT(answer, HasSubstr("ratelimit: \"api-free\";r="));
  }
  const std::string refused = edge.get("/orders", free);
  EXPECT_EQ(status_of(refused), "429");
  for (const char* line :
       {"retry-after: 1\r\n", "ratelimit: \"api-free\";r=0;t=1\r\n", "cache-control: no-store\r\n",
        "content-type: application/problem+json\r\n", R"("status":429,)",
        R"("code":"RATE_LIMITED","policy":"api-free","retryAfterSeconds":1)"})
    EXPECT_THAT(refused, HasSubstr(line));
  EXPECT_EQ(status_of(edge.get("/orders", "x-plan: free\r\nx-api-key: k2\r\n")), "200");
  EXPECT_THAT(edge.get("/orders"), Not(HasSubstr("ratelimit"))) << "nothing limits it";
}

TEST_F(Envoy, MethodPathAndAddressMakeTheFactsThatPoliciesName) {
  Edge edge;
  for (const char* path : {"/auth/login", "/auth//login", "/auth/./login", "/auth/login/", "/auth/%6cogin",
                           "/auth/login?x=1", "/auth/login", "/auth/login", "/auth/login", "/auth/login"})
    EXPECT_EQ(status_of(edge.get(path, "x-username: manoj\r\n", "POST")), "200") << path;
  EXPECT_EQ(status_of(edge.get("/auth/login", "x-username: manoj\r\n", "POST")), "429");
  EXPECT_EQ(status_of(edge.get("/auth/login", "x-username: manoj\r\nx-forwarded-for: 9.9.9.9\r\n", "POST")),
            "429");
  EXPECT_EQ(status_of(edge.get("/auth/login", "x-username: other\r\n", "POST")), "200");
  EXPECT_EQ(status_of(edge.get("/auth/login", "x-username: manoj\r\n")), "200") << "GET is another route";
}

TEST_F(Envoy, ShadowCountsAndRefusesNobody) {
  Edge edge;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(status_of(edge.get("/search")), "200");
  EXPECT_THAT(edge.metrics(), HasSubstr(R"(policy="search-trial",verdict="shadow_denied"} 2)"));
}

TEST_F(Envoy, ItsOwnHeadersComeFromTheStatuses) {
  Edge edge({{"enable_x_ratelimit_headers: \"OFF\"", "enable_x_ratelimit_headers: DRAFT_VERSION_03"}});
  const std::string answer = edge.get("/auth/login", "x-username: manoj\r\n", "POST");
  EXPECT_THAT(answer, HasSubstr("x-ratelimit-limit: 10, 10;w=60;name=\"login\"\r\n"));
  EXPECT_THAT(answer, HasSubstr("x-ratelimit-remaining: 9\r\n"));
  EXPECT_THAT(answer, HasSubstr("x-ratelimit-reset: 60\r\n"));
}

TEST_F(Envoy, WithoutDripgateItPassesByDefaultAndRefusesWhereItIsToldSo) {
  {
    Edge edge;
    edge.site.up->kill_hard();
    EXPECT_EQ(status_of(edge.get("/orders", "x-plan: free\r\nx-api-key: k1\r\n")), "200");
  }
  Edge edge({{"failure_mode_deny: false", "failure_mode_deny: true"}});
  EXPECT_EQ(status_of(edge.get("/orders", "x-plan: free\r\nx-api-key: k1\r\n")), "200");
  edge.site.up->kill_hard();
  EXPECT_EQ(status_of(edge.get("/orders", "x-plan: free\r\nx-api-key: k1\r\n")), "503");
}

TEST_F(Envoy, ADripgateThatStandsStillCostsNoMoreThanTheTimeout) {
  Edge edge;
  edge.site.up->signal(SIGSTOP);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(status_of(edge.get("/orders", "x-plan: free\r\nx-api-key: k1\r\n")), "200");
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds{2});  // 20 ms, on a busy machine
  edge.site.up->signal(SIGCONT);
}

}  // namespace
}  // namespace dripgate::integration
