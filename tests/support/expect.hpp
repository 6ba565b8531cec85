// Expectations about thrown errors and their texts.
#pragma once

#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "support/catch.hpp"

namespace loadax_test {

/// The text of the `Error` that `action` throws; the test case fails where it throws none or
/// another type.
template <class Error, class Action>
[[nodiscard]] std::string message_of(Action&& action) {
  try {
    std::forward<Action>(action)();
  } catch (const Error& error) {
    if constexpr (requires { error.what(); })
      return error.what();
    else
      return error.message();  // the mixin `loadax::Error`, which is no std::exception
  } catch (const std::exception& other) {
    FAIL("another type of exception was thrown: " << other.what());
  } catch (...) {
    FAIL("something that is no std::exception was thrown");
  }
  FAIL("nothing was thrown");
  return {};
}

/// Whether `text` contains every one of `parts`; names the missing ones in the test's output.
[[nodiscard]] inline bool contains(std::string_view text,
                                   std::initializer_list<std::string_view> parts) {
  bool all = true;
  for (const std::string_view part : parts) {
    if (text.find(part) != std::string_view::npos) continue;
    all = false;
    UNSCOPED_INFO("missing: \"" << std::string(part) << "\" in: \"" << std::string(text) << '"');
  }
  return all;
}

}  // namespace loadax_test
