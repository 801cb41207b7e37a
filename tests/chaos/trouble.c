/* Preloaded into a process: its wall clock is off by, and what it forces to disk takes longer by, what a file says at that moment.
   The file is named by TROUBLE and holds two numbers of 64 bits: nanoseconds, microseconds. Clocks that only count on are left alone. */
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

struct trouble { int64_t ahead_ns, sync_us; };
static const struct trouble none;
static const volatile struct trouble *now = &none;
static int (*real_clock)(clockid_t, struct timespec *);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);

__attribute__((constructor)) static void begin(void) {
  real_clock = dlsym(RTLD_NEXT, "clock_gettime");
  real_fsync = dlsym(RTLD_NEXT, "fsync");
  real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
  const char *path = getenv("TROUBLE");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *seen = mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (seen != MAP_FAILED) now = seen;
}

int clock_gettime(clockid_t id, struct timespec *at) {
  int failed = real_clock ? real_clock(id, at) : (int)syscall(SYS_clock_gettime, id, at);
  if (!failed && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
    int64_t ns = at->tv_sec * 1000000000LL + at->tv_nsec + now->ahead_ns;
    at->tv_sec = ns / 1000000000LL;
    at->tv_nsec = ns % 1000000000LL;
  }
  return failed;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
  struct timespec exact;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &exact)) return -1;
  at->tv_sec = exact.tv_sec;
  at->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *at) {
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  if (at) *at = exact.tv_sec;
  return exact.tv_sec;
}

static void wait_for_disk(void) {
  if (now->sync_us > 0) usleep((useconds_t)now->sync_us);
}

int fsync(int file) { wait_for_disk(); return real_fsync(file); }
int fdatasync(int file) { wait_for_disk(); return real_fdatasync(file); }
