// IDX files, the format of MNIST: one array of big-endian numbers.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/types.h>
#include <system_error>
#include <unistd.h>

#include <fmt/core.h>

#include <loadax/array/host_array.hpp>
#include <loadax/core/checked.hpp>
#include <loadax/core/element_type.hpp>
#include <loadax/core/error.hpp>
#include <loadax/core/shape.hpp>

namespace loadax {
inline namespace v0 {

/// What an IDX file says of itself.
struct IdxHeader {
  ElementType type = ElementType::uint8;
  Shape shape;

  /// Of the header: the elements follow.
  std::uint64_t size_bytes() const noexcept { return 4 + 4 * shape.size(); }
  bool operator==(const IdxHeader&) const = default;
};

/// What an IDX file may hold.
template <class T>
concept IdxElement = std::same_as<T, std::uint8_t> || std::same_as<T, std::int8_t> ||
                     std::same_as<T, std::int16_t> || std::same_as<T, std::int32_t> ||
                     std::same_as<T, float> || std::same_as<T, double>;

namespace detail {

/// Where bytes come from: `read(offset, to)` copies those from `offset` on.
template <class R>
concept ByteSource = requires(R& source, std::span<std::byte> to) {
  { source.size() } -> std::convertible_to<std::uint64_t>;
  { source.name() } -> std::convertible_to<std::string>;
  source.read(std::uint64_t{}, to);
};

class SpanSource {
 public:
  SpanSource(std::span<const std::byte> bytes, std::string_view name)
      : bytes_(bytes), name_(name) {}
  std::uint64_t size() const noexcept { return bytes_.size(); }
  std::string name() const { return std::string(name_); }
  /// @pre the bytes exist
  void read(std::uint64_t offset, std::span<std::byte> to) const {
    if (!to.empty()) std::memcpy(to.data(), bytes_.data() + offset, to.size());
  }

 private:
  std::span<const std::byte> bytes_;
  std::string_view name_;
};

class FileSource {
 public:
  explicit FileSource(const std::string& path) : path_(path) {
    // Without waiting, as a pipe would until somebody writes to it.
    file_.descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct ::stat status{};
    if (file_.descriptor < 0 || ::fstat(file_.descriptor, &status) != 0)
      throw_error("cannot be opened");
    if (!S_ISREG(status.st_mode))
      throw EngineError("file", EINVAL, fmt::format("{} is not a regular file", path),
                        "copy the data to a file first");
    size_ = static_cast<std::uint64_t>(status.st_size);
  }
  std::uint64_t size() const noexcept { return size_; }
  std::string name() const { return path_; }
  /// @pre the bytes existed when the file was opened
  void read(std::uint64_t offset, std::span<std::byte> to) const {
    while (!to.empty()) {
      const auto got = ::pread(file_.descriptor, to.data(), to.size(), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw_error("cannot be read");
      if (got == 0)
        throw FormatError(
            path_, offset,
            fmt::format("the file ends, where it had {} bytes when it was opened", size_),
            "something writes to the file: read it when that is done");
      offset += static_cast<std::uint64_t>(got);
      to = to.subspan(static_cast<std::size_t>(got));
    }
  }

 private:
  struct File {
    File() = default;
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() {
      if (descriptor >= 0) ::close(descriptor);
    }
    int descriptor = -1;
  };
  [[noreturn]] void throw_error(std::string_view what) const {
    const int code = errno;
    throw EngineError("file", code,
                      fmt::format("{} {}: {}", path_, what, std::generic_category().message(code)),
                      "check the path and that it is a readable file");
  }
  std::string path_;
  File file_;
  std::uint64_t size_ = 0;
};

inline std::uint32_t big_endian_32(const std::array<std::byte, 4>& bytes) noexcept {
  std::uint32_t value = 0;
  for (const std::byte b : bytes) value = value << 8 | std::to_integer<std::uint32_t>(b);
  return value;
}

/// Turns big-endian numbers into this machine's.
template <class T>
void from_big_endian(std::span<T> values) noexcept {
  if constexpr (sizeof(T) > 1 && std::endian::native == std::endian::little) {
    for (T& value : values) {
      auto bytes = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
      std::reverse(bytes.begin(), bytes.end());
      value = std::bit_cast<T>(bytes);
    }
  }
}

inline ElementType idx_element_type(std::byte code, const std::string& file) {
  switch (std::to_integer<int>(code)) {
    case 0x08:
      return ElementType::uint8;
    case 0x09:
      return ElementType::int8;
    case 0x0B:
      return ElementType::int16;
    case 0x0C:
      return ElementType::int32;
    case 0x0D:
      return ElementType::float32;
    case 0x0E:
      return ElementType::float64;
  }
  throw FormatError(
      file, 2, fmt::format("0x{:02x} is no element type of IDX", std::to_integer<int>(code)),
      "the types are 0x08 uint8, 0x09 int8, 0x0b int16, 0x0c int32, 0x0d float32, 0x0e float64");
}

/// Checks that the file is exactly as long as its header says.
template <ByteSource Source>
void check_idx_length(const Source& source, const IdxHeader& header) {
  const auto count = checked_product(header.shape);
  const auto bytes = count ? checked_multiply(*count, element_size(header.type)) : std::nullopt;
  const auto end = bytes ? checked_add<std::uint64_t>(*bytes, header.size_bytes()) : std::nullopt;
  const auto expected = fmt::format("shape {} of {}", bracketed(header.shape), name(header.type));
  if (!end)
    throw FormatError(source.name(), 4, expected + " has more than 2^64 bytes",
                      "the file is damaged, or no IDX file");
  if (source.size() < *end)
    throw FormatError(source.name(), source.size(),
                      fmt::format("the file ends, where {} needs {} bytes", expected, *end),
                      "the file is truncated: fetch it again");
  if (source.size() > *end)
    throw FormatError(source.name(), *end,
                      fmt::format("{} bytes follow the end of {}", source.size() - *end, expected),
                      "the file is damaged, or no IDX file");
}

template <ByteSource Source>
IdxHeader idx_header(const Source& source) {
  std::array<std::byte, 4> word{};
  const auto read = [&](std::uint64_t offset) {
    if (source.size() < offset + word.size())
      throw FormatError(source.name(), source.size(), "the file ends within the header",
                        "the file is truncated: fetch it again");
    source.read(offset, word);
  };
  read(0);
  if (word[0] != std::byte{0} || word[1] != std::byte{0})
    throw FormatError(source.name(), 0,
                      fmt::format("begins with 0x{:08x}, where an IDX file has two zero bytes",
                                  big_endian_32(word)),
                      "a file from the web may still be compressed: gunzip it first");
  IdxHeader header{.type = idx_element_type(word[2], source.name()), .shape = {}};
  const auto rank = std::to_integer<std::size_t>(word[3]);
  if (rank < 1 || rank > max_rank)
    throw FormatError(source.name(), 3,
                      fmt::format("{} dimensions, where 1 to {} can be read", rank, max_rank),
                      "the file is damaged, or no IDX file");
  for (std::size_t i = 0; i < rank; ++i) {
    read(4 + 4 * i);
    header.shape.push_back(big_endian_32(word));
  }
  check_idx_length(source, header);
  return header;
}

template <IdxElement T, ByteSource Source>
HostArray<T> idx_array(const Source& source) {
  const IdxHeader header = idx_header(source);
  if (header.type != element_type_of<T>)
    throw FormatError(source.name(), 2,
                      fmt::format("elements are {}, where {} was asked for", name(header.type),
                                  name(element_type_of<T>)),
                      fmt::format("read them as {} and convert", name(header.type)));
  auto array = HostArray<T>::uninitialized(header.shape);
  source.read(header.size_bytes(), std::as_writable_bytes(array.values()));
  from_big_endian(array.values());
  return array;
}

}  // namespace detail

/// Reads the header and checks that the file is exactly as long as it says.
/// @throws FormatError for a file that is not IDX; EngineError where it cannot be read
inline IdxHeader read_idx_header(const std::string& path) {
  return detail::idx_header(detail::FileSource(path));
}

/// Reads a whole file.
/// @throws FormatError for a file that is not IDX, or of another element type; EngineError where it
/// cannot be read
/// @complexity O(elements); nothing is allocated before the file's length has been checked
template <IdxElement T>
HostArray<T> read_idx(const std::string& path) {
  return detail::idx_array<T>(detail::FileSource(path));
}

/// The same for a file that is in memory; `file` is its name in messages.
inline IdxHeader parse_idx_header(std::span<const std::byte> bytes, std::string_view file = "idx") {
  return detail::idx_header(detail::SpanSource(bytes, file));
}
template <IdxElement T>
HostArray<T> parse_idx(std::span<const std::byte> bytes, std::string_view file = "idx") {
  return detail::idx_array<T>(detail::SpanSource(bytes, file));
}

}  // namespace v0
}  // namespace loadax
