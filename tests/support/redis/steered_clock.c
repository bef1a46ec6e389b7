/* Preloaded into redis-server by the tests: the wall clock is what the file named in DRIPGATE_STEERED_CLOCK
   says (one int64, microseconds since 1970 plus one; 0: the real time). So TIME, EXPIRE and TTLs follow a clock that
   the test sets. Monotonic clocks stay real. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

typedef int (*clock_gettime_fn)(clockid_t, struct timespec *);

static volatile int64_t *steered;
static clock_gettime_fn real_clock_gettime;

__attribute__((constructor)) static void attach(void) {
  *(void **)&real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  const char *path = getenv("DRIPGATE_STEERED_CLOCK");
  if (path == NULL) return;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) abort();
  void *page = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (page == MAP_FAILED) abort();
  steered = page;
}

static int real_time(clockid_t id, struct timespec *now) {
  if (real_clock_gettime != NULL) return real_clock_gettime(id, now);
  return (int)syscall(SYS_clock_gettime, id, now);
}

int clock_gettime(clockid_t id, struct timespec *now) {
  int64_t us = steered != NULL ? __atomic_load_n(steered, __ATOMIC_ACQUIRE) : 0;
  if (us == 0 || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)) return real_time(id, now);
  us -= 1;
  now->tv_sec = us / 1000000;
  now->tv_nsec = us % 1000000 * 1000;
  return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  (void)zone;
  struct timespec exact;
  int failed = clock_gettime(CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return failed;
}

time_t time(time_t *out) {
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  if (out != NULL) *out = exact.tv_sec;
  return exact.tv_sec;
}
