// File reading: see file_read.h.
#include "config/file_read.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include <sys/stat.h>

namespace dripgate::config {
namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

std::unexpected<Error> failed(int code) {
  const auto kind = code == ENOENT ? ErrorCode::not_found : ErrorCode::io;
  return fail(kind, std::generic_category().message(code));
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t max) {
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rbe"));
  if (!file) return failed(errno);
  std::string bytes(max + 1, '\0');
  bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file.get()));
  if (std::ferror(file.get()) != 0) return failed(errno);
  if (bytes.size() > max) {
    return fail(ErrorCode::too_large, "it is larger than " + std::to_string(max) + " bytes");
  }
  return bytes;
}

std::string file_identity(const std::string& path) {
  struct stat s{};
  if (::stat(path.c_str(), &s) != 0) return {};
  const auto time = [](const timespec& t) {
    return std::to_string(t.tv_sec) + "." + std::to_string(t.tv_nsec);
  };
  return std::to_string(s.st_dev) + ":" + std::to_string(s.st_ino) + ":" + std::to_string(s.st_size) + ":" +
         time(s.st_mtim) + ":" + time(s.st_ctim);
}

}  // namespace dripgate::config
