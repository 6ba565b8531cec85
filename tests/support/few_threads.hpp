// A process that cannot start many threads.
#pragma once

#include <cstddef>
#include <fstream>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

namespace loadax_test {

/// While it lives, there is memory for the stacks of two threads.
class FewThreads {
 public:
  FewThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t large = before_;
    pthread_attr_setstacksize(&large, stack);
    pthread_setattr_default_np(&large);
    getrlimit(RLIMIT_AS, &limit_);
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit lower = limit_;
    lower.rlim_cur = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + stack / 2 * 5;
    setrlimit(RLIMIT_AS, &lower);
  }
  ~FewThreads() {
    setrlimit(RLIMIT_AS, &limit_);
    pthread_setattr_default_np(&before_);
  }
  FewThreads(const FewThreads&) = delete;
  FewThreads& operator=(const FewThreads&) = delete;

 private:
  static constexpr std::size_t stack = std::size_t{1} << 30;
  pthread_attr_t before_{};
  rlimit limit_{};
};

}  // namespace loadax_test
