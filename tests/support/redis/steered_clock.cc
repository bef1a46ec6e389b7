#include "support/redis/steered_clock.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <stdexcept>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace dripgate::testing {

SteeredClock::SteeredClock() {
  const std::string path = folder_.path("clock");
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ::ftruncate(fd, sizeof(std::int64_t)) != 0) throw std::runtime_error("cannot write " + path);
  void* page = ::mmap(nullptr, sizeof(std::int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (page == MAP_FAILED) throw std::runtime_error("cannot map " + path);
  page_ = static_cast<std::int64_t*>(page);
}

SteeredClock::~SteeredClock() {
  ::munmap(page_, sizeof(std::int64_t));
}

void SteeredClock::set(WallTime now) {
  std::atomic_ref(*page_).store(to_us(now) + 1, std::memory_order_release);
}

WallTime SteeredClock::now() const {
  return from_us(std::max<std::int64_t>(1, std::atomic_ref(*page_).load(std::memory_order_acquire)) - 1);
}

std::string SteeredClock::preload() const {
  return "LD_PRELOAD=" DRIPGATE_STEERED_CLOCK_LIBRARY;
}

std::string SteeredClock::file() const {
  return "DRIPGATE_STEERED_CLOCK=" + folder_.path("clock");
}

}  // namespace dripgate::testing
