// The library's exceptions: what went wrong, with the values, and on a `hint:` line what to do.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace loadax {
inline namespace v0 {

/// What every exception of the library also is: `catch (const loadax::Error&)` catches them all.
/// It is no std::exception itself: each concrete error derives from exactly one standard
/// exception, so `catch (const std::exception&)` works too.
class Error {
 public:
  virtual ~Error() = default;
  /// The whole text, the hint included; the same as `what()`.
  virtual const char* message() const noexcept = 0;
  /// What went wrong, without the hint.
  virtual std::string_view text() const noexcept = 0;
  /// What to do about it; "" where there is nothing to say.
  virtual std::string_view hint() const noexcept = 0;

 protected:
  Error() = default;
  Error(const Error&) = default;
  Error& operator=(const Error&) = default;
};

namespace detail {

inline constexpr std::string_view before_hint = "\nhint: ";

inline std::string with_hint(std::string_view text, std::string_view hint) {
  return hint.empty() ? std::string(text) : fmt::format("{}{}{}", text, before_hint, hint);
}

/// An error on top of one standard exception.
template <class Standard>
class ErrorOn : public Standard, public Error {
 public:
  explicit ErrorOn(std::string_view text, std::string_view hint = {})
      : Standard(with_hint(text, hint)), text_size_(text.size()) {}
  const char* message() const noexcept override { return this->what(); }
  std::string_view text() const noexcept override { return {this->what(), text_size_}; }
  std::string_view hint() const noexcept override {
    const char* rest = this->what() + text_size_;
    return *rest == '\0' ? "" : rest + before_hint.size();
  }

 private:
  std::size_t text_size_;
};

/// A string that copies without throwing, as an exception's members must.
class SharedText {
 public:
  explicit SharedText(std::string text)
      : text_(std::make_shared<const std::string>(std::move(text))) {}
  const std::string& get() const noexcept { return *text_; }

 private:
  std::shared_ptr<const std::string> text_;
};

}  // namespace detail

/// A value that a caller gave and that cannot be right, whatever the state of the program.
class ArgumentError : public detail::ErrorOn<std::invalid_argument> {
  using ErrorOn::ErrorOn;
};

/// A position beyond the end.
class IndexError : public detail::ErrorOn<std::out_of_range> {
  using ErrorOn::ErrorOn;
};

/// A call at the wrong time: no mesh in scope, a moved-from loader.
class StateError : public detail::ErrorOn<std::runtime_error> {
  using ErrorOn::ErrorOn;
};

/// Something that the library does not do, for these values or on this machine.
class NotSupportedError : public detail::ErrorOn<std::runtime_error> {
  using ErrorOn::ErrorOn;
};

/// A file that is not what its format says.
class FormatError : public detail::ErrorOn<std::runtime_error> {
 public:
  FormatError(std::string file, std::uint64_t offset, std::string_view text,
              std::string_view hint = {})
      : ErrorOn(fmt::format("{}: at byte {}: {}", file, offset, text), hint),
        file_(std::move(file)),
        offset_(offset) {}
  const std::string& file() const noexcept { return file_.get(); }
  /// Where in the file, in bytes from its start.
  std::uint64_t offset() const noexcept { return offset_; }

 private:
  detail::SharedText file_;
  std::uint64_t offset_;
};

/// A wait that took longer than the caller allowed.
class TimeoutError : public detail::ErrorOn<std::runtime_error> {
 public:
  TimeoutError(std::string stage, std::string_view text, std::string_view hint = {})
      : ErrorOn(fmt::format("{}: {}", stage, text), hint), stage_(std::move(stage)) {}
  /// What was waited for.
  const std::string& stage() const noexcept { return stage_.get(); }

 private:
  detail::SharedText stage_;
};

/// Work that the program itself asked to stop, by a `std::stop_token`.
class CancelledError : public detail::ErrorOn<std::runtime_error> {
  using ErrorOn::ErrorOn;
};

/// An outside engine (MPI, hwloc, the operating system, ...) reported a failure.
class EngineError : public detail::ErrorOn<std::runtime_error> {
 public:
  EngineError(std::string engine, int code, std::string_view text, std::string_view hint = {})
      : ErrorOn(fmt::format("{}: {} (code {})", engine, text, code), hint),
        engine_(std::move(engine)),
        code_(code) {}
  const std::string& engine() const noexcept { return engine_.get(); }
  int code() const noexcept { return code_; }

 private:
  detail::SharedText engine_;
  int code_;
};

/// The same error with `prefix` before its text and the same hint: for callers who know more of
/// where it happened. Of the errors that consist of a text and a hint alone.
template <std::derived_from<Error> E>
  requires std::constructible_from<E, std::string, std::string_view>
E with_context(std::string_view prefix, const E& error) {
  return E(fmt::format("{}{}", prefix, error.text()), error.hint());
}

}  // namespace v0
}  // namespace loadax
