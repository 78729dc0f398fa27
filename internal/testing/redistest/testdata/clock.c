// A library that is loaded into a server ahead of the C library and moves the server's wall
// clock. The monotonic clock does not change. The file that REDISTEST_CLOCK names has two
// integers of 64 bits: how far the clock is moved, in ns, and 1 once the library is loaded.
//
// It allocates no memory: an allocator that reads the clock while it starts would recurse.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const int64_t second = 1000000000;
static volatile int64_t *file; // null before load

__attribute__((constructor)) static void load(void) {
  const char *name = getenv("REDISTEST_CLOCK");
  int fd = name ? open(name, O_RDWR | O_CLOEXEC) : -1;
  void *p = mmap(NULL, 2 * sizeof *file, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (p != MAP_FAILED) {
    file = p;
    file[1] = 1;
  }
}

int clock_gettime(clockid_t id, struct timespec *t) {
  if (syscall(SYS_clock_gettime, id, t) != 0)
    return -1;
  if (file && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
    int64_t ns = t->tv_sec * second + t->tv_nsec + file[0];
    t->tv_sec = ns / second;
    t->tv_nsec = ns % second;
  }
  return 0;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone) {
  (void)zone;
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  tv->tv_sec = t.tv_sec;
  tv->tv_usec = t.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *result) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  if (result)
    *result = t.tv_sec;
  return t.tv_sec;
}
