// Bytes as an IDX file: either they are one, and parsing gives back what they say, or a
// FormatError.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include <loadax/core/element_type.hpp>
#include <loadax/core/error.hpp>
#include <loadax/format/idx.hpp>

namespace lx = loadax;

namespace {

/// Aborts unless the array takes up the rest of the file.
template <class T>
void parse(std::span<const std::byte> bytes, const lx::IdxHeader& header) {
  const auto array = lx::parse_idx<T>(bytes);
  if (array.shape() != header.shape) std::abort();
  if (array.size() * sizeof(T) + header.size_bytes() != bytes.size()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    const lx::IdxHeader header = lx::parse_idx_header(bytes, "fuzz");
    lx::visit_element_type(header.type, [&]<class T>(T*) {
      if constexpr (lx::IdxElement<T>) {
        parse<T>(bytes, header);
      } else {
        std::abort();
      }
    });
  } catch (const lx::FormatError& error) {
    if (error.offset() > size) std::abort();
  }
  return 0;
}
