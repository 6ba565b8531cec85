#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <numeric>
#include <span>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <loadax/core/error.hpp>
#include <loadax/format/idx.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;

namespace {

using Bytes = std::vector<std::uint8_t>;

/// A header: two zero bytes, type, rank, big-endian sizes; then the data.
Bytes idx(std::uint8_t type, std::initializer_list<std::uint32_t> shape, const Bytes& data = {}) {
  Bytes bytes{0, 0, type, static_cast<std::uint8_t>(shape.size())};
  for (const std::uint32_t size : shape)
    for (const int shift : {24, 16, 8, 0})
      bytes.push_back(static_cast<std::uint8_t>(size >> shift));
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

template <class T>
lx::HostArray<T> parse(const Bytes& bytes) {
  return lx::parse_idx<T>(std::as_bytes(std::span(bytes)), "a.idx");
}

/// Expects a FormatError at an offset.
template <class T = std::uint8_t>
void refuse(const Bytes& bytes, std::uint64_t offset,
            std::initializer_list<std::string_view> parts) {
  try {
    (void)parse<T>(bytes);
    FAIL("nothing was thrown");
  } catch (const lx::FormatError& error) {
    CHECK(error.file() == "a.idx");
    CHECK(error.offset() == offset);
    CHECK(contains(error.what(), {"a.idx: at byte " + std::to_string(offset), "hint:"}));
    CHECK(contains(error.what(), parts));
  }
}

struct TemporaryFile {
  std::string path =
      (std::filesystem::temp_directory_path() / ("loadax-idx-" + std::to_string(::getpid())))
          .string();
  explicit TemporaryFile(const Bytes& bytes) {
    std::ofstream file(path, std::ios::binary);
    for (const std::uint8_t b : bytes) file.put(static_cast<char>(b));
  }
  ~TemporaryFile() { std::filesystem::remove(path); }
};

}  // namespace

TEST_CASE("the handwritten digits are read from their IDX files") {
  const std::string folder = std::string(LOADAX_SOURCE_DIR) + "/examples/data/";
  const auto images = lx::read_idx<std::uint8_t>(folder + "digits-images.idx3-ubyte");
  const auto labels = lx::read_idx<std::uint8_t>(folder + "digits-labels.idx1-ubyte");
  CHECK(images.shape() == lx::Shape{1797, 8, 8});
  CHECK(labels.shape() == lx::Shape{1797});
  // The first image and labels of the data set, as its other distributions have them too.
  const std::vector<std::uint8_t> first{0, 0, 5,  13, 9,  1,  0, 0, 0, 0, 13, 15, 10, 15, 5, 0,
                                        0, 3, 15, 2,  0,  11, 8, 0, 0, 4, 12, 0,  0,  8,  8, 0,
                                        0, 5, 8,  0,  0,  9,  8, 0, 0, 4, 11, 0,  1,  12, 7, 0,
                                        0, 2, 14, 5,  10, 12, 0, 0, 0, 0, 6,  13, 10, 0,  0, 0};
  CHECK(std::equal(first.begin(), first.end(), images.data()));
  for (int i = 0; i < 10; ++i) CHECK(labels.values()[static_cast<std::size_t>(i)] == i);
  const auto header = lx::read_idx_header(folder + "digits-images.idx3-ubyte");
  CHECK(header == lx::IdxHeader{lx::ElementType::uint8, {1797, 8, 8}});
  CHECK(header.size_bytes() == 16);
}

TEST_CASE("each element type is read, big-endian") {
  CHECK(parse<std::uint8_t>(idx(0x08, {3}, {0, 1, 255})) ==
        lx::HostArray<std::uint8_t>({3}, {0, 1, 255}));
  CHECK(parse<std::int8_t>(idx(0x09, {2}, {255, 127})) ==
        lx::HostArray<std::int8_t>({2}, {-1, 127}));
  CHECK(parse<std::int16_t>(idx(0x0B, {2}, {1, 2, 255, 254})) ==
        lx::HostArray<std::int16_t>({2}, {258, -2}));
  CHECK(parse<std::int32_t>(idx(0x0C, {1, 2}, {0, 1, 0, 0, 255, 255, 255, 255})) ==
        lx::HostArray<std::int32_t>({1, 2}, {65536, -1}));
  CHECK(parse<float>(idx(0x0D, {2}, {0x3F, 0xC0, 0, 0, 0xBE, 0x80, 0, 0})) ==
        lx::HostArray<float>({2}, {1.5f, -0.25f}));
  CHECK(parse<double>(idx(0x0E, {1}, {0x40, 0x0A, 0, 0, 0, 0, 0, 0})) ==
        lx::HostArray<double>({1}, {3.25}));
}

TEST_CASE("a file without rows is an array without elements") {
  CHECK(parse<std::uint8_t>(idx(0x08, {0, 28, 28})).shape() == lx::Shape{0, 28, 28});
  // Sizes that would overflow do not where one of them is 0.
  CHECK(parse<double>(idx(0x0E, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0})).size() == 0);
}

TEST_CASE("a file that ends early is refused, wherever it ends") {
  const Bytes whole = idx(0x08, {2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(parse<std::uint8_t>(whole).size() == 6);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const Bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    refuse(part, length, {"the file ends"});
  }
  refuse(Bytes(whole.begin(), whole.end() - 1), 17, {"[2, 3] of uint8 needs 18 bytes"});
}

TEST_CASE("bytes behind the end are refused") {
  refuse(idx(0x08, {2}, {1, 2, 3}), 10, {"1 bytes follow the end of shape [2] of uint8"});
}

TEST_CASE("sizes that overflow are refused before anything is allocated") {
  refuse<double>(idx(0x0E, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}), 4, {"more than 2^64 bytes"});
  refuse<double>(idx(0x0E, {0xFFFFFFFF, 0xFFFFFFFF}), 4, {"more than 2^64 bytes"});
  refuse<std::uint8_t>(idx(0x08, {0xFFFFFFFF, 0xFFFFFFFF}), 12,
                       {"needs 18446744065119617037 bytes"});
}

TEST_CASE("other files, types and ranks are refused") {
  refuse({0x1F, 0x8B, 8, 0, 0}, 0,
         {"begins with 0x1f8b0800, where an IDX file has two zero bytes", "gunzip"});
  refuse(idx(0x0A, {1}, {1}), 2, {"0x0a is no element type"});
  refuse(idx(0x08, {}), 3, {"0 dimensions, where 1 to 8"});
  refuse(idx(0x08, {1, 1, 1, 1, 1, 1, 1, 1, 1}, {1}), 3, {"9 dimensions"});
  refuse<float>(idx(0x08, {1}, {1}), 2,
                {"elements are uint8, where float32", "read them as uint8"});
}

TEST_CASE("a file is read as its bytes are parsed") {
  const TemporaryFile file(idx(0x0B, {2}, {1, 2, 255, 254}));
  CHECK(lx::read_idx<std::int16_t>(file.path) == lx::HostArray<std::int16_t>({2}, {258, -2}));
  CHECK(contains(message_of<lx::FormatError>([&] { (void)lx::read_idx<float>(file.path); }),
                 {file.path, "at byte 2"}));
  const TemporaryFile empty({});
  CHECK(contains(message_of<lx::FormatError>([&] { (void)lx::read_idx_header(empty.path); }),
                 {"at byte 0", "ends within the header"}));
}

TEST_CASE("a file that cannot be opened or read is an error with the system's reason") {
  CHECK(contains(message_of<lx::EngineError>([] { (void)lx::read_idx<float>("/no/such/file"); }),
                 {"/no/such/file cannot be opened", "No such file", "hint:"}));
  CHECK(contains(message_of<lx::EngineError>([] { (void)lx::read_idx<float>("/"); }),
                 {"/ is not a regular file", "hint:"}));
  const TemporaryFile file(Bytes{1});
  const lx::detail::FileSource source(file.path);
  std::byte byte{};
  CHECK(contains(message_of<lx::EngineError>([&] {
                   source.read(std::uint64_t{1} << 63, {&byte, 1});  // the system has no such place
                 }),
                 {file.path + " cannot be read: Invalid argument", "hint:"}));
}

TEST_CASE("a file that shrinks while it is read is an error that says where it ends") {
  const TemporaryFile file(Bytes(100'000, 7));
  const lx::detail::FileSource source(file.path);
  std::filesystem::resize_file(file.path, 10);
  std::vector<std::byte> bytes(50'000);
  try {
    source.read(4, bytes);
    FAIL("nothing was thrown");
  } catch (const lx::FormatError& error) {
    CHECK(error.offset() == 10);
    CHECK(contains(error.what(),
                   {file.path, "at byte 10", "the file ends, where it had 100000 bytes", "hint:"}));
    CHECK(!contains(error.what(), {"Success"}));
  }
}

TEST_CASE("what is no regular file is refused, not waited for", "[format]") {
  const auto path = (std::filesystem::temp_directory_path() / "loadax_test_fifo").string();
  std::remove(path.c_str());
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(contains(message_of<lx::EngineError>([&] { lx::read_idx<float>(path); }),
                 {path, "not a regular file", "hint:"}));
  std::remove(path.c_str());
}
