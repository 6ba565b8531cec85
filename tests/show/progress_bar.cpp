#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <unistd.h>

#include <loadax/show/progress_bar.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"

namespace lx = loadax;

TEST_CASE("a progress line fills with the batches of its epoch") {
  CHECK(lx::progress_line({.batches_processed = 0, .batches_total = 4}, 8) ==
        "epoch   1  ........");
  CHECK(lx::progress_line({.epoch = 11, .batches_processed = 1, .batches_total = 4}, 8) ==
        "epoch  12  ##......");
  CHECK(lx::progress_line({.epoch = 999, .batches_processed = 4, .batches_total = 4}, 8) ==
        "epoch 1000  ########");
  CHECK(lx::progress_line({.batches_processed = 1, .batches_total = 3}, 8) ==
        "epoch   1  ##......");
}

TEST_CASE("a progress line of an epoch without batches is empty, and none is too long") {
  CHECK(lx::progress_line({}, 3) == "epoch   1  ...");
  CHECK(lx::progress_line({.batches_processed = 5, .batches_total = 4}, 3) == "epoch   1  ###");
  CHECK(lx::progress_line({.batches_processed = ~0ull, .batches_total = ~0ull}, 3) ==
        "epoch   1  ###");
}

TEST_CASE("a progress bar writes nothing to a file") {
  std::FILE* file = std::tmpfile();
  REQUIRE(file);
  const lx::ProgressBar bar(file);
  bar.draw({.batches_processed = 1, .batches_total = 2});
  bar.clear();
  std::fflush(file);
  CHECK(std::ftell(file) == 0);
  std::fclose(file);
}

TEST_CASE("a progress bar redraws its line on a terminal, and takes it away") {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0) {
    WARN("no pseudo-terminal on this machine");
    return;
  }
  REQUIRE(grantpt(terminal) == 0);
  REQUIRE(unlockpt(terminal) == 0);
  std::FILE* file = std::fopen(ptsname(terminal), "w");
  REQUIRE(file);
  const lx::Progress half{.batches_processed = 1, .batches_total = 2};
  const lx::ProgressBar bar(file);
  bar.draw(half);
  bar.clear();
  const std::string expected = "\r" + lx::progress_line(half) + "\r\x1b[K";
  std::string written(expected.size(), ' ');
  for (std::size_t at = 0; at < written.size();) {
    const auto count = read(terminal, written.data() + at, written.size() - at);
    REQUIRE(count > 0);
    at += static_cast<std::size_t>(count);
  }
  CHECK(written == expected);
  std::fclose(file);
  close(terminal);
}

TEST_CASE("a progress bar needs a stream") {
  CHECK(loadax_test::contains(
      loadax_test::message_of<lx::ArgumentError>([] { lx::ProgressBar(nullptr); }),
      {"ProgressBar: no stream", "hint: "}));
}
