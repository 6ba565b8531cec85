#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <fstream>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <pthread.h>
#include <ranges>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <loadax/core/error.hpp>
#include <loadax/core/log.hpp>
#include <loadax/core/thread_context.hpp>
#include <loadax/data/dataloader.hpp>
#include <loadax/data/simple_dataset.hpp>

#include "data/quiet.hpp"
#include "support/catch.hpp"
#include "support/expect.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::CountThreads;
using loadax_test::message_of;
using loadax_test::QuietLog;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t worker_counts[] = {0, 1, 2, 7};

lx::SimpleDataset<int> numbers(std::size_t n) {
  std::vector<int> values(n);
  std::iota(values.begin(), values.end(), 0);
  return lx::SimpleDataset{std::move(values)};
}

/// The batches of one pass, as vectors.
std::vector<std::vector<int>> batches_of(const auto& pass) {
  std::vector<std::vector<int>> batches;
  for (const auto& batch : pass) {
    const auto values = get<0>(batch).values();
    batches.emplace_back(values.begin(), values.end());
  }
  return batches;
}

/// Waits until `count` threads are in wait() at once; false where that takes longer than allowed.
class Meeting {
 public:
  Meeting(int count, std::chrono::milliseconds allowed) : count_(count), allowed_(allowed) {}
  bool wait() {
    std::unique_lock lock(mutex_);
    const int round = round_;
    if (++here_ == count_) {
      here_ = 0;
      ++round_;
      all_here_.notify_all();
      return true;
    }
    if (all_here_.wait_for(lock, allowed_, [&] { return round_ != round; })) return true;
    --here_;
    return false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_here_;
  int count_, here_ = 0, round_ = 0;
  std::chrono::milliseconds allowed_;
};

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
  pthread_attr_t before_;
  rlimit limit_;
};

struct Mine : std::exception {  // an error type of the user's own
  int sample;
  explicit Mine(int s) : sample(s) {}
  const char* what() const noexcept override { return "mine"; }
};

}  // namespace

TEST_CASE("batches are in the dataset's order, each sample exactly once, for all small grids") {
  for (std::size_t n = 0; n <= 12; ++n)
    for (std::size_t batch = 1; batch <= 13; ++batch)
      for (const bool drop_last : {false, true})
        for (const std::size_t workers : {0u, 1u, 3u}) {
          const lx::Dataloader loader{
              numbers(n), {.batch_size = batch, .num_workers = workers, .drop_last = drop_last}};
          const auto batches = batches_of(loader);
          INFO("n " << n << " batch " << batch << " workers " << workers << " drop " << drop_last);
          REQUIRE(batches.size() == n / batch + (!drop_last && n % batch != 0));
          int next = 0;
          for (std::size_t k = 0; k < batches.size(); ++k) {
            CHECK(batches[k].size() == std::min(batch, n - k * batch));
            for (const int sample : batches[k]) CHECK(sample == next++);
          }
        }
}

TEST_CASE("batches are bitwise equal for any number of workers") {
  struct Example {
    std::array<float, 5> image;
    std::vector<float> tokens;
    int label;
  };
  const auto dataset = numbers(203).shuffle(5).map([](int i) {
    const auto x = static_cast<float>(i);
    return Example{{x, x / 3, x / 7, 1, 2}, {x, 1 / (1 + x)}, i};
  });
  std::vector<lx::Batch<Example>> expected;
  for (const std::size_t workers : worker_counts) {
    const lx::Dataloader loader{dataset, {.batch_size = 16, .num_workers = workers}};
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
      std::size_t k = epoch * 13;
      for (const auto& batch : loader.epoch(epoch)) {
        if (workers == 0)
          expected.push_back(batch);
        else
          CHECK(batch == expected.at(k));
        ++k;
      }
      CHECK(k == (epoch + 1) * 13);
    }
  }
  CHECK(!(expected[0] == expected[13]));
}

TEST_CASE("each loop is the next epoch, and epoch(e) is epoch e") {
  const auto dataset = numbers(40).shuffle(3);
  const lx::Dataloader loader{dataset, {.batch_size = 8}};
  static_assert(std::ranges::input_range<decltype(loader)>);
  const auto first = batches_of(loader), second = batches_of(loader);
  CHECK(first != second);
  CHECK(first == batches_of(loader.epoch(0)));
  CHECK(second == batches_of(loader.epoch(1)));
  CHECK(loader.epoch(7).begin().progress().epoch == 7);
  // A copy goes on by itself.
  const auto copy = loader;
  CHECK(batches_of(copy) == batches_of(loader.epoch(2)));
  CHECK(batches_of(loader) == batches_of(loader.epoch(2)));
  auto other = lx::Dataloader{dataset, {.batch_size = 4}};
  other = loader;
  CHECK(batches_of(other) == batches_of(loader.epoch(3)));
}

TEST_CASE("wrong options are refused when the loader is made") {
  CHECK(contains(
      message_of<lx::ArgumentError>([] { (void)lx::Dataloader{numbers(3), {.batch_size = 0}}; }),
      {"batch_size is 0", "hint:"}));
  CHECK(contains(message_of<lx::ArgumentError>([] {
                   (void)lx::Dataloader{numbers(3), {.batch_size = 1, .prefetch_factor = 0}};
                 }),
                 {"prefetch_factor is 0", "hint:"}));
}

TEST_CASE("the largest options work") {
  const auto most = std::numeric_limits<std::size_t>::max();
  const lx::Dataloader loader{numbers(5),
                              {.batch_size = most, .num_workers = 2, .prefetch_factor = most}};
  CHECK(batches_of(loader) == std::vector<std::vector<int>>{{0, 1, 2, 3, 4}});
  const lx::Dataloader many{numbers(5),
                            {.batch_size = 1, .num_workers = 5, .prefetch_factor = most}};
  CHECK(batches_of(many).size() == 5);
  // No more threads are started than there are rows to load.
  const lx::Dataloader eager{numbers(5), {.batch_size = 2, .num_workers = 1'000'000}};
  CHECK(batches_of(eager).size() == 3);
}

TEST_CASE("as many transforms as there are workers run at once") {
  for (const int workers : {2, 4, 7}) {
    Meeting meeting(workers, 20s);
    std::atomic<int> missed{0};
    const auto meet = [&](int i) {
      if (!meeting.wait()) ++missed;
      return i;
    };
    const auto n = static_cast<std::size_t>(workers);
    const lx::Dataloader fixed{numbers(n * 4).map(meet), {.batch_size = n, .num_workers = n}};
    CHECK(batches_of(fixed).size() == 4);
    // Also where a batch's shapes come from its first sample.
    const lx::Dataloader open{numbers(n * 4).map([&](int i) { return std::vector<int>{meet(i)}; }),
                              {.batch_size = n, .num_workers = n}};
    CHECK(batches_of(open).size() == 4);
    CHECK(missed == 0);
  }
}

TEST_CASE("fewer workers than transforms that wait for each other cannot finish them") {
  Meeting meeting(3, 50ms);
  std::atomic<int> missed{0};
  const lx::Dataloader loader{numbers(3).map([&](int i) {
                                if (!meeting.wait()) ++missed;
                                return i;
                              }),
                              {.batch_size = 3, .num_workers = 2}};
  batches_of(loader);
  CHECK(missed > 0);
}

TEST_CASE("an exception arrives at its own batch with its own type, after all batches before it") {
  const QuietLog quiet;
  for (const std::size_t workers : worker_counts)
    for (const int bad : {0, 1, 7, 8, 37, 63}) {
      INFO("workers " << workers << " sample " << bad);
      const auto dataset = numbers(64).map([bad](int i) {
        if (i == bad) throw Mine(i);
        return i;
      });
      const lx::Dataloader loader{dataset, {.batch_size = 8, .num_workers = workers}};
      int delivered = 0;
      try {
        for (const auto& batch : loader) {
          CHECK(get<0>(batch).values()[0] == delivered * 8);
          ++delivered;
        }
        FAIL("nothing was thrown");
      } catch (const Mine& error) {
        CHECK(error.sample == bad);
      }
      CHECK(delivered == bad / 8);
    }
}

TEST_CASE("behind an exception the iterator goes on with the next batch") {
  QuietLog quiet;
  for (const std::size_t workers : worker_counts) {
    quiet.lines.clear();
    const auto dataset = numbers(40).shuffle(1).map([](int i) {
      if (i == 11) throw 42;  // no std::exception
      if (i == 30) throw std::out_of_range("thirty");
      return i;
    });
    const lx::Dataloader loader{dataset, {.batch_size = 4, .num_workers = workers}};
    const lx::IndexPermutation order(40, 1, 0);
    const std::uint64_t at_11 = order.position_of(11), at_30 = order.position_of(30);
    REQUIRE(at_11 / 4 != at_30 / 4);
    std::uint64_t k = 0, ints = 0, ranges = 0;
    auto it = loader.begin();
    for (; it != loader.end(); ++it, ++k) {
      try {
        const auto& batch = *it;
        CHECK(get<0>(batch).values()[0] == static_cast<int>(order(4 * k)));
        CHECK(it.failure() == nullptr);
      } catch (int value) {
        CHECK(value == 42);
        CHECK(k == at_11 / 4);
        ++ints;
        REQUIRE(it.failure() != nullptr);
        CHECK(it.failure()->batch == k);
        CHECK(it.failure()->sample == at_11);
        CHECK(it.failure()->stage == lx::LoadStage::transform);
        CHECK_THROWS_AS(*it, int);  // as often as it is asked
      } catch (const std::out_of_range& error) {
        CHECK(error.what() == std::string("thirty"));
        CHECK(k == at_30 / 4);
        ++ranges;
      }
    }
    CHECK(k == 10);
    CHECK(ints == 1);
    CHECK(ranges == 1);
    CHECK(it.progress().batches_processed == 8);
    CHECK(it.progress().items_processed == 32);
    // The log tells each failed batch once.
    REQUIRE(quiet.lines.size() == 2);
    const std::string text = quiet.lines[0] + quiet.lines[1];
    CHECK(contains(text, {"batch " + std::to_string(at_30 / 4), "transform",
                          "sample " + std::to_string(at_30), "thirty", "no standard type"}));
  }
}

TEST_CASE("where several samples of a batch fail, the first one is told") {
  const QuietLog quiet;
  for (const std::size_t workers : worker_counts) {
    const lx::Dataloader loader{numbers(64).map([](int i) -> int {
                                  if (i < 3) return i;
                                  throw Mine(i);
                                }),
                                {.batch_size = 64, .num_workers = workers}};
    auto it = loader.begin();
    try {
      (void)*it;
    } catch (const Mine& error) {
      CHECK(error.sample == 3);
    }
    REQUIRE(it.failure() != nullptr);
    CHECK(it.failure()->sample == 3);
  }
}

TEST_CASE("a failure of the source is told apart from one of a transform") {
  const QuietLog quiet;
  struct Broken {
    std::size_t size() const { return 4; }
    int operator[](std::size_t i) const { return i == 2 ? throw std::runtime_error("disk") : 1; }
  };
  for (const std::size_t workers : worker_counts) {
    const lx::Dataloader loader{lx::dataset(Broken{}).map([](int i) { return i; }),
                                {.batch_size = 4, .num_workers = workers}};
    auto it = loader.begin();
    CHECK(message_of<std::runtime_error>([&] { (void)*it; }) == "disk");
    CHECK(it.failure()->stage == lx::LoadStage::source);
    CHECK(it.failure()->sample == 2);
  }
}

TEST_CASE("an epoch that cannot be made is an error where the loop begins") {
  struct Fickle {
    std::size_t size() const { return 4; }
    int operator[](std::size_t) const { return 0; }
    Fickle for_epoch(std::uint64_t epoch) const {
      if (epoch == 1) throw std::runtime_error("no epoch 1");
      return *this;
    }
  };
  const lx::Dataloader loader{Fickle{}, {.batch_size = 2, .num_workers = 2}};
  CHECK(batches_of(loader).size() == 2);
  CHECK(message_of<std::runtime_error>([&] { (void)loader.begin(); }) == "no epoch 1");
  CHECK(batches_of(loader).size() == 2);
}

TEST_CASE("leaving the loop at any point ends all workers") {
  const CountThreads threads;
  for (const std::size_t workers : worker_counts)
    for (std::size_t leave = 0; leave <= 10; ++leave) {
      const lx::Dataloader loader{numbers(80), {.batch_size = 8, .num_workers = workers}};
      std::size_t k = 0;
      for (auto it = loader.begin(); it != loader.end() && k < leave; ++it, ++k) (void)*it;
      CHECK(threads.unchanged());
      {
        const auto unused = loader.begin();
      }
      CHECK(threads.unchanged());
    }
}

TEST_CASE("an exception of the consumer ends all workers") {
  const CountThreads threads;
  for (const std::size_t workers : worker_counts) {
    const lx::Dataloader loader{numbers(1000), {.batch_size = 8, .num_workers = workers}};
    CHECK(message_of<std::runtime_error>([&] {
            for (const auto& batch : loader) {
              if (get<0>(batch).values()[0] == 16) throw std::runtime_error("consumer");
            }
          }) == "consumer");
    CHECK(threads.unchanged());
  }
}

TEST_CASE("leaving the loop waits for running transforms, and for no more") {
  std::atomic<int> running{0}, calls{0};
  const auto dataset = numbers(10'000).map([&](int i) {
    ++running;
    ++calls;
    std::this_thread::sleep_for(1ms);
    --running;
    return i;
  });
  const lx::Dataloader loader{dataset,
                              {.batch_size = 100, .num_workers = 2, .prefetch_factor = 20}};
  {
    const auto it = loader.begin();
    while (calls < 4) std::this_thread::sleep_for(1ms);
  }
  CHECK(running == 0);
  CHECK(calls < 1000);
}

TEST_CASE("several iterators over one loader are independent") {
  for (const std::size_t workers : worker_counts) {
    const lx::Dataloader loader{numbers(30).shuffle(2), {.batch_size = 5, .num_workers = workers}};
    const auto first = batches_of(loader.epoch(0)), second = batches_of(loader.epoch(1));
    auto a = loader.begin(), b = loader.begin(), again = loader.epoch(0).begin();
    for (std::size_t k = 0; k < 6; ++k, ++a, ++b, ++again) {
      CHECK(std::ranges::equal(get<0>(*a).values(), first[k]));
      CHECK(std::ranges::equal(get<0>(*b).values(), second[k]));
      CHECK(std::ranges::equal(get<0>(*again).values(), first[k]));
    }
    CHECK(a == loader.end());
    CHECK(b == loader.end());
  }
}

TEST_CASE("an iterator outlives its loader and its dataset") {
  for (const std::size_t workers : worker_counts) {
    auto it = [&] {
      const lx::Dataloader loader{numbers(50).shuffle(2).map([](int i) { return i + 1; }),
                                  {.batch_size = 5, .num_workers = workers}};
      return loader.begin();
    }();
    int sum = 0;
    for (; it != std::default_sentinel; ++it)
      for (const int x : get<0>(*it).values()) sum += x;
    CHECK(sum == 50 * 51 / 2);
  }
}

TEST_CASE("progress counts what was delivered, not what was loaded ahead") {
  for (const std::size_t workers : worker_counts)
    for (const bool drop_last : {false, true}) {
      const lx::Dataloader loader{
          numbers(22), {.batch_size = 5, .num_workers = workers, .drop_last = drop_last}};
      auto it = loader.begin();
      const std::uint64_t items = drop_last ? 20 : 22, batches = drop_last ? 4 : 5;
      CHECK(it.progress() == lx::Progress{0, 0, items, 0, batches});
      for (std::uint64_t k = 1; it != loader.end(); ++it, ++k) {
        CHECK(it.progress().batches_processed == k - 1);
        (void)*it;
        (void)*it;  // looked at twice, counted once
        CHECK(it.progress() == lx::Progress{0, std::min(5 * k, items), items, k, batches});
      }
      CHECK(it.progress() == lx::Progress{0, items, items, batches, batches});
    }
}

TEST_CASE("the batch that drop_last drops is not loaded") {
  for (const std::size_t workers : worker_counts) {
    std::atomic<int> calls{0}, most{0};
    const lx::Dataloader loader{numbers(23).map([&](int i) {
                                  ++calls;
                                  most = std::max(most.load(), i);
                                  return i;
                                }),
                                {.batch_size = 5, .num_workers = workers, .drop_last = true}};
    CHECK(batches_of(loader).size() == 4);
    CHECK(calls == 20);
    CHECK(most <= 19);
  }
}

TEST_CASE("no more is loaded ahead than prefetch_factor batches for each worker") {
  for (const std::size_t workers : {0u, 1u, 3u}) {
    std::atomic<int> calls{0};
    const lx::Dataloader loader{numbers(1000).map([&](int i) {
                                  ++calls;
                                  return i;
                                }),
                                {.batch_size = 4, .num_workers = workers, .prefetch_factor = 2}};
    auto it = loader.begin();
    if (workers == 0) CHECK(calls == 0);
    for (int k = 1; k <= 5; ++k, ++it) {
      (void)*it;
      // The batch in hand, and those ahead of it.
      const int allowed = 4 * (k + 2 * static_cast<int>(workers));
      if (workers > 0)
        for (int t = 0; t < 10'000 && calls < allowed; ++t) std::this_thread::sleep_for(1ms);
      std::this_thread::sleep_for(5ms);
      CHECK(calls == allowed);
    }
  }
}

TEST_CASE("the next batch is loaded while the consumer works") {
  std::atomic<int> calls{0};
  const lx::Dataloader loader{numbers(8).map([&](int i) {
                                ++calls;
                                return i;
                              }),
                              {.batch_size = 4, .num_workers = 1}};
  auto it = loader.begin();
  (void)*it;
  for (int i = 0; i < 10'000 && calls < 8; ++i) std::this_thread::sleep_for(1ms);
  CHECK(calls == 8);
}

TEST_CASE("batches may be passed over, moved from, and changed") {
  for (const std::size_t workers : worker_counts) {
    const lx::Dataloader loader{numbers(24), {.batch_size = 4, .num_workers = workers}};
    auto it = loader.begin();
    const lx::Batch<int> kept = std::move(*it);
    ++it;
    ++it;
    CHECK(get<0>(*it).values()[0] == 8);
    get<0>(*it).values()[0] = -1;
    for (++it; it != loader.end(); it++) CHECK(it->rows() == 4);
    CHECK(get<0>(kept).values()[3] == 3);
  }
}

TEST_CASE("an epoch ends without a pause") {
  const lx::Dataloader loader{numbers(10), {.batch_size = 4, .num_workers = 2}};
  const auto start = std::chrono::steady_clock::now();
  for (int epoch = 0; epoch < 50; ++epoch) CHECK(batches_of(loader).size() == 3);
  CHECK(std::chrono::steady_clock::now() - start < 50 * 50ms);
}

TEST_CASE("one slow sample does not hold up the other workers") {
  std::atomic<int> done{0};
  std::atomic<bool> others_done{false};
  const lx::Dataloader loader{numbers(16).map([&](int i) {
                                if (i == 0) {
                                  for (int t = 0; t < 10'000 && done < 12; ++t)
                                    std::this_thread::sleep_for(1ms);
                                  others_done = done >= 12;
                                }
                                ++done;
                                return i;
                              }),
                              {.batch_size = 16, .num_workers = 2}};
  CHECK(batches_of(loader).size() == 1);
  CHECK(others_done);
}

TEST_CASE("slow and uneven transforms keep the order") {
  const lx::Dataloader loader{numbers(120).map([](int i) {
                                std::this_thread::sleep_for(std::chrono::microseconds(i % 7 * 150));
                                return i;
                              }),
                              {.batch_size = 8, .num_workers = 7, .prefetch_factor = 1}};
  int next = 0;
  for (const auto& batch : loader)
    for (const int sample : get<0>(batch).values()) CHECK(sample == next++);
  CHECK(next == 120);
}

TEST_CASE("a hundred thousand small samples arrive once each") {
  constexpr std::size_t n = 100'000;
  for (const std::size_t workers : {2u, 7u}) {
    const lx::Dataloader loader{numbers(n).shuffle(9),
                                {.batch_size = 3, .num_workers = workers, .drop_last = false}};
    std::vector<char> seen(n);
    std::size_t count = 0;
    for (const auto& batch : loader)
      for (const int sample : get<0>(batch).values()) {
        count += !seen[static_cast<std::size_t>(sample)];
        seen[static_cast<std::size_t>(sample)] = 1;
      }
    CHECK(count == n);
  }
}

namespace {
thread_local int scope = 0;
}

namespace {
std::atomic<int> refusals{0};
}

TEST_CASE("where one worker cannot start, its rows fail and the others' are loaded") {
  static const bool inherited = lx::inherit_in_threads([]() -> lx::AdoptThreadState {
    if (refusals == 0) return {};
    return []() -> std::shared_ptr<void> {
      if (refusals.fetch_sub(1) == 2) throw std::runtime_error("cannot start");
      return {};
    };
  });
  CHECK(inherited);
  const QuietLog quiet;
  const auto slowly = numbers(200).map([](int i) {
    std::this_thread::sleep_for(50us);
    return std::vector<int>{i};
  });
  for (int round = 0; round < 20; ++round) {
    refusals = 2;
    const lx::Dataloader loader{slowly, {.batch_size = 20, .num_workers = 2}};
    int failed = 0, delivered = 0;
    for (auto it = loader.begin(); it != loader.end(); ++it) {
      try {
        const auto& batch = *it;
        CHECK(batch.rows() == 20);
        ++delivered;
      } catch (const std::runtime_error& error) {
        CHECK(error.what() == std::string("cannot start"));
        ++failed;
      }
    }
    CHECK(failed + delivered == 10);
  }
  refusals = 0;
}

TEST_CASE("transforms see the state of the thread that started the loop") {
  static const bool inherited = lx::inherit_in_threads([]() -> lx::AdoptThreadState {
    if (scope == 0) return {};
    return [value = scope]() -> std::shared_ptr<void> {
      if (value < 0) throw std::runtime_error("cannot adopt");
      scope = value;
      return {};
    };
  });
  CHECK(inherited);
  const auto dataset = numbers(12).map([](int) { return scope; });
  for (const std::size_t workers : worker_counts) {
    scope = 5;
    const lx::Dataloader loader{dataset, {.batch_size = 6, .num_workers = workers}};
    for (const auto& batch : loader)
      for (const int seen : get<0>(batch).values()) CHECK(seen == 5);
  }
  // Where it cannot be had, each batch says so.
  const QuietLog quiet;
  scope = -1;
  const lx::Dataloader loader{dataset, {.batch_size = 6, .num_workers = 2}};
  auto it = loader.begin();
  scope = 0;
  CHECK(message_of<std::runtime_error>([&] { (void)*it; }) == "cannot adopt");
  CHECK(it.failure()->stage == lx::LoadStage::open);
  CHECK(it.failure()->sample == lx::no_sample);
  ++it;
  CHECK_THROWS_AS(*it, std::runtime_error);
  ++it;
  CHECK(it == loader.end());
}

TEST_CASE("samples that cannot be copied are loaded") {
  struct Owner {
    std::unique_ptr<int> none;  // makes the example move-only
    std::size_t size() const { return 10; }
    std::unique_ptr<int> operator[](std::size_t i) const {
      return std::make_unique<int>(static_cast<int>(i));
    }
  };
  const auto dataset = lx::dataset(Owner{}).map([](std::unique_ptr<int> p) { return *p * 2; });
  CHECK(batches_of(lx::Dataloader{dataset, {.batch_size = 5, .num_workers = 2}}) ==
        std::vector<std::vector<int>>{{0, 2, 4, 6, 8}, {10, 12, 14, 16, 18}});
}

TEST_CASE("a log sink that throws does not hide the failure") {
  lx::set_log_sink([](lx::LogLevel, std::string_view) { throw std::logic_error("sink"); });
  const lx::Dataloader loader{numbers(2).map([](int i) -> int { throw Mine(i); }),
                              {.batch_size = 2, .num_workers = 1}};
  auto it = loader.begin();
  CHECK_THROWS_AS(*it, Mine);
  lx::set_log_sink({});
}

TEST_CASE("threads that cannot be started are an error, and those that were are joined") {
  const lx::Dataloader loader{numbers(100), {.batch_size = 50, .num_workers = 8}};
  REQUIRE(batches_of(loader).size() == 2);  // a sanitizer starts a thread of its own with the first
  const CountThreads threads;
  std::string text;
  {
    const FewThreads few;
    text = message_of<lx::EngineError>([&] { (void)loader.begin(); });
  }
  CHECK(contains(text, {"threads:", "of 8 loader threads started", "num_workers", "hint:"}));
  CHECK(!contains(text, {"0 of 8"}));
  CHECK(threads.unchanged());
  CHECK(batches_of(loader).size() == 2);
}

TEST_CASE("a mask that the consumer sets on a batch is not that of a later one", "[data]") {
  lx::Dataloader loader{lx::SimpleDataset{std::vector<int>(6)}, {.batch_size = 2}};
  std::size_t batches = 0;
  for (auto& batch : loader) {
    CHECK_FALSE(batch.has_mask());
    batch.set_mask(lx::HostArray<bool>({2}));
    ++batches;
  }
  CHECK(batches == 3);
}

TEST_CASE("a moved-from iterator says so", "[data]") {
  lx::Dataloader loader{lx::SimpleDataset{std::vector<int>(6)}, {.batch_size = 2}};
  auto it = loader.begin();
  const auto moved = std::move(it);
  CHECK(moved->rows() == 2);
  const auto moved_from = [](auto use) { return message_of<lx::StateError>(use); };
  CHECK(contains(moved_from([&] { (void)(it == loader.end()); }), {"moved-from", "hint:"}));
  CHECK(contains(moved_from([&] { (void)*it; }), {"moved-from"}));
}
