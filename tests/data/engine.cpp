// The engine with a source and a sink that are not the Dataloader's: a stream over epochs, padded
// rows, several destinations for a row, and failures in each of the calls.
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <loadax/core/error.hpp>
#include <loadax/data/engine.hpp>
#include <loadax/data/epoch_view.hpp>
#include <loadax/data/host_sink.hpp>
#include <loadax/data/simple_dataset.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/quiet.hpp"
#include "support/resources.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;
using loadax_test::QuietLog;
using loadax_test::Resources;

namespace {

using Dataset = lx::ShuffleDataset<lx::SimpleDataset<int>>;

std::shared_ptr<const Dataset> shuffled(std::size_t n) {
  std::vector<int> values(n);
  std::iota(values.begin(), values.end(), 0);
  return std::make_shared<const Dataset>(lx::SimpleDataset{std::move(values)}, 7);
}

struct Throw {
  std::int64_t at_open = -1, at_prepare = -1, at_finish = -1;
};

/// Every epoch in batches of `rows`, the last one padded; without end unless `batches` says so.
struct Stream {
  struct Work {
    lx::EpochView<Dataset> view;
    std::uint64_t number = 0, first = 0;
    std::size_t row_count = 0;
    const Dataset& dataset() const { return *view; }
    std::size_t rows() const { return row_count; }
    std::uint64_t position(std::size_t row) const {
      return first + row < view->size() ? first + row : lx::no_sample;
    }
  };
  std::shared_ptr<lx::EpochViews<Dataset>> views;
  std::uint64_t size, per_epoch, count;
  std::size_t row_count;
  Throw failing;

  Stream(std::size_t n, std::size_t rows, std::uint64_t batches, Throw f = {})
      : views(std::make_shared<lx::EpochViews<Dataset>>(shuffled(n))),
        size(n),
        per_epoch((n + rows - 1) / rows),
        count(batches),
        row_count(rows),
        failing(f) {}
  std::uint64_t batches() const { return count; }
  std::size_t max_rows() const { return row_count; }
  Work batch(std::uint64_t k) {
    if (static_cast<std::int64_t>(k) == failing.at_open) throw std::runtime_error("open");
    return {views->at(k / per_epoch), k, k % per_epoch * row_count, row_count};
  }
};

/// Writes each row to two places, as a sink with replicas does.
struct TwoCopies {
  struct Slot {
    std::vector<int> first, second;
    std::vector<char> valid;
    std::uint64_t finished = 0;
  };
  static constexpr bool needs_example = false;
  Throw failing;

  std::size_t bytes(const Slot&, const Stream::Work& work) const {
    return work.rows() * (2 * sizeof(int) + 1);
  }
  void release(Slot& slot) const { slot = {}; }
  void prepare(Slot& slot, const Stream::Work& work) const {
    if (static_cast<std::int64_t>(work.number) == failing.at_prepare)
      throw std::runtime_error("prepare");
    slot.first.assign(work.rows(), -1);
    slot.second.assign(work.rows(), -1);
    slot.valid.assign(work.rows(), 2);
  }
  void write(Slot& slot, const Stream::Work&, std::size_t row, int example) const {
    slot.first[row] = example;
    slot.second[row] = example;
    slot.valid[row] = 1;
  }
  void pad(Slot& slot, const Stream::Work&, std::size_t row) const {
    slot.first[row] = 0;
    slot.second[row] = 0;
    slot.valid[row] = 0;
  }
  void finish(Slot& slot, const Stream::Work& work) const {
    if (static_cast<std::int64_t>(work.number) == failing.at_finish)
      throw std::runtime_error("finish");
    for (const char valid : slot.valid)
      if (valid == 2) throw std::logic_error("finished before all rows were written");
    slot.finished = work.number + 1;
  }
};

/// A dataset whose visit() forgets the last sample, and a source of one batch of it.
struct Short {
  std::size_t size() const { return 8; }
  int operator[](std::size_t) const { return 1; }
  void visit(std::size_t, std::size_t count, const auto& f) const {
    for (std::size_t i = 0; i + 1 < count; ++i) f(1);
  }
};
struct Whole {
  struct Work {
    Short data;
    const Short& dataset() const { return data; }
    std::size_t rows() const { return 8; }
    std::uint64_t position(std::size_t row) const { return row; }
  };
  std::uint64_t batches() const { return 1; }
  std::size_t max_rows() const { return 8; }
  Work batch(std::uint64_t) const { return {}; }
};

using Engine = lx::LoaderEngine<Stream, TwoCopies>;

}  // namespace

TEST_CASE("a stream runs through many epochs, with padded tails and several copies of each row") {
  const std::size_t n = 10, rows = 4;
  for (const std::size_t workers : {0u, 1u, 2u, 7u}) {
    Engine engine(Stream(n, rows, lx::unbounded_batches), TwoCopies{},
                  {.num_workers = workers, .depth = workers + 1});
    for (std::uint64_t k = 0; k < 300; ++k) {
      const auto view = shuffled(n)->for_epoch(k / 3);
      const auto& slot = engine.current();
      CHECK(slot.finished == k + 1);
      CHECK(slot.first == slot.second);
      for (std::size_t row = 0; row < rows; ++row) {
        const std::size_t position = k % 3 * rows + row;
        REQUIRE(static_cast<bool>(slot.valid[row]) == (position < n));
        CHECK(slot.first[row] == (position < n ? view[position] : 0));
      }
      CHECK(!engine.done());
      engine.next();
    }
    CHECK(engine.batch() == 300);
  }
}

TEST_CASE("a stream of known length ends") {
  Engine engine(Stream(10, 4, 5), TwoCopies{}, {.num_workers = 2, .depth = 3});
  int batches = 0;
  for (; !engine.done(); engine.next()) {
    (void)engine.current();
    ++batches;
  }
  CHECK(batches == 5);
  CHECK(engine.batches_delivered() == 5);
  CHECK(engine.rows_delivered() == 20);
  Engine none(Stream(10, 4, 0), TwoCopies{}, {.num_workers = 2, .depth = 3});
  CHECK(none.done());
}

TEST_CASE("a failure to open, prepare or finish a batch arrives at that batch") {
  const QuietLog quiet;
  const Resources resources;
  for (const std::size_t workers : {0u, 1u, 2u, 7u}) {
    const Throw failing{.at_open = 2, .at_prepare = 4, .at_finish = 5};
    Engine engine(Stream(40, 4, 8, failing), TwoCopies{failing},
                  {.num_workers = workers, .depth = 3});
    for (; !engine.done(); engine.next()) {
      const auto k = static_cast<std::int64_t>(engine.batch());
      const auto look = [&] { (void)engine.current(); };
      if (k == 2) {
        CHECK(message_of<std::runtime_error>(look) == "open");
        CHECK(engine.failure()->stage == lx::LoadStage::open);
      } else if (k == 4) {
        CHECK(message_of<std::runtime_error>(look) == "prepare");
        CHECK(engine.failure()->stage == lx::LoadStage::place);
      } else if (k == 5) {
        CHECK(message_of<std::runtime_error>(look) == "finish");
        CHECK(engine.failure()->stage == lx::LoadStage::place);
        CHECK(engine.failure()->sample == lx::no_sample);
      } else {
        look();
        CHECK(engine.failure() == nullptr);
      }
    }
    CHECK(engine.batches_delivered() == 5);
  }
  CHECK(resources.unchanged());
  CHECK(quiet.lines.size() == 12);
}

TEST_CASE("failures that are not of one sample are raised whatever the policy") {
  const QuietLog quiet;
  for (const std::size_t workers : {0u, 1u, 2u, 7u}) {
    const Throw failing{.at_open = 2, .at_prepare = 4, .at_finish = 5};
    Engine engine(
        Stream(40, 4, 8, failing), TwoCopies{failing},
        {.num_workers = workers, .depth = 3, .on_error = lx::OnError::retry(2).then_skip()});
    std::vector<std::uint64_t> raised;
    for (; !engine.done(); engine.next()) {
      try {
        (void)engine.current();
      } catch (const std::runtime_error&) {
        raised.push_back(engine.batch());
      }
    }
    CHECK(raised == std::vector<std::uint64_t>{2, 4, 5});
    CHECK(engine.statistics().retried == 0);
    CHECK(engine.statistics().skipped == 0);
  }
  lx::LoaderEngine<Whole, lx::HostSink<int>> engine(
      Whole{}, lx::HostSink<int>(true), {.on_error = lx::OnError::retry(2).then_skip()});
  CHECK(contains(message_of<lx::StateError>([&] { (void)engine.current(); }), {"visit()"}));
}

TEST_CASE("an engine may be destroyed while workers wait for the consumer") {
  const Resources resources;
  for (int i = 0; i < 50; ++i) {
    Engine engine(Stream(10, 4, lx::unbounded_batches), TwoCopies{},
                  {.num_workers = 4, .depth = 2});
    for (int k = 0; k < i % 5; ++k) {
      (void)engine.current();
      engine.next();
    }
  }
  CHECK(resources.unchanged());
}

TEST_CASE("a dataset whose visit() ends early is an error, not a batch with holes") {
  const QuietLog quiet;
  lx::LoaderEngine<Whole, lx::HostSink<int>> engine(Whole{}, lx::HostSink<int>(), {});
  CHECK(contains(message_of<lx::StateError>([&] { (void)engine.current(); }),
                 {"visit()", "1 samples early", "hint:"}));
  CHECK(engine.failure()->sample == 7);
}
