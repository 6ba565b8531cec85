#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <loadax/core/checked.hpp>
#include <loadax/core/element_type.hpp>
#include <loadax/core/error.hpp>
#include <loadax/core/inline_vector.hpp>
#include <loadax/core/log.hpp>
#include <loadax/core/shape.hpp>
#include <loadax/core/thread_context.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;

TEST_CASE("each error is caught as itself, as its standard exception, and as loadax::Error") {
  const auto throw_it = [](const auto& error) { throw error; };
  const lx::ArgumentError argument("a is 3", "make it 4");
  CHECK_THROWS_AS(throw_it(argument), std::invalid_argument);
  CHECK_THROWS_AS(throw_it(argument), lx::Error);
  CHECK_THROWS_AS(throw_it(argument), std::exception);
  CHECK_THROWS_AS(throw_it(lx::IndexError("i")), std::out_of_range);
  CHECK_THROWS_AS(throw_it(lx::StateError("s")), std::runtime_error);
  CHECK_THROWS_AS(throw_it(lx::NotSupportedError("n")), std::runtime_error);
  CHECK_THROWS_AS(throw_it(lx::EngineError("MPI", 5, "e")), lx::Error);
  CHECK_THROWS_AS(throw_it(lx::TimeoutError("load", "t")), lx::Error);
  CHECK(message_of<lx::Error>([&] { throw_it(argument); }) == "a is 3\nhint: make it 4");
  CHECK(std::string(lx::ArgumentError("no hint").what()) == "no hint");
}

TEST_CASE("errors carry what went wrong as data") {
  const lx::FormatError format("a.idx", 12, "is bad", "fetch it again");
  CHECK(std::string(format.what()) == "a.idx: at byte 12: is bad\nhint: fetch it again");
  CHECK(format.file() == "a.idx");
  CHECK(format.offset() == 12);
  const lx::TimeoutError timeout("collate", "took 3 s");
  CHECK(timeout.stage() == "collate");
  CHECK(std::string(timeout.what()) == "collate: took 3 s");
  const lx::EngineError engine("MPI", 5, "no such rank", "start more");
  CHECK(engine.engine() == "MPI");
  CHECK(engine.code() == 5);
  CHECK(std::string(engine.what()) == "MPI: no such rank (code 5)\nhint: start more");
}

TEST_CASE("an error's text and hint are apart, and a caller can add where it happened") {
  const lx::ArgumentError error("a is 3", "make it 4"), bare("a is 3");
  CHECK(error.text() == "a is 3");
  CHECK(error.hint() == "make it 4");
  CHECK(bare.text() == "a is 3");
  CHECK(bare.hint().empty());
  const lx::TimeoutError timeout("collate", "took 3 s", "wait");
  const lx::Error& any = timeout;
  CHECK(any.text() == "collate: took 3 s");
  CHECK(any.hint() == "wait");

  CHECK(std::string(lx::with_context("leaf 'w': ", error).what()) ==
        "leaf 'w': a is 3\nhint: make it 4");
  CHECK(lx::with_context("leaf 'w': ", error).hint() == "make it 4");
  CHECK(std::string(lx::with_context("leaf 'w': ", bare).what()) == "leaf 'w': a is 3");
  static_assert(std::is_same_v<decltype(lx::with_context("", lx::NotSupportedError("n"))),
                               lx::NotSupportedError>);
  static_assert(std::is_nothrow_copy_constructible_v<lx::ArgumentError>);
  static_assert(std::is_nothrow_copy_constructible_v<lx::EngineError>);
}

TEST_CASE("integer arithmetic that does not fit gives nothing") {
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  CHECK(lx::checked_multiply(most, std::uint64_t{1}) == most);
  CHECK(!lx::checked_multiply(most, std::uint64_t{2}));
  CHECK(!lx::checked_add(most, std::uint64_t{1}));
  CHECK(lx::checked_add(most - 1, std::uint64_t{1}) == most);
  CHECK(!lx::checked_multiply(std::int32_t{1} << 30, 2));
  CHECK(lx::checked_product(std::vector<std::uint64_t>{}) == 1u);
  CHECK(lx::checked_product(std::vector<std::uint64_t>{3, 4, 5}) == 60u);
  CHECK(!lx::checked_product(std::vector<std::uint64_t>{most, 2, 3}));
  CHECK(lx::checked_product(std::vector<std::uint64_t>{most, 2, 0}) == 0u);
}

TEST_CASE("an inline vector holds up to its capacity and says so beyond it") {
  lx::InlineVector<int, 3> v{1, 2};
  v.push_back(3);
  CHECK(v == lx::InlineVector<int, 3>(std::vector<int>{1, 2, 3}));
  CHECK(contains(message_of<lx::NotSupportedError>([&] { v.push_back(4); }),
                 {"4 values, where at most 3"}));
  CHECK(v.size() == 3);
  CHECK_THROWS_AS(v.resize(5), lx::NotSupportedError);
  v.pop_back();
  CHECK(v.back() == 2);
  v.clear();
  CHECK(v.empty());
  v.resize(2, 7);
  CHECK(v == lx::InlineVector<int, 3>{7, 7});
}

TEST_CASE("an inline vector of integers takes any integers that fit, and nothing else") {
  CHECK(lx::Shape(std::vector<int>{2, 0, 3}) == lx::Shape{2, 0, 3});
  CHECK(contains(message_of<lx::ArgumentError>([] { lx::Shape(std::vector<int>{2, -1}); }),
                 {"the value -1 ", "between 0 and 18446744073709551615", "hint: "}));
  using Small = lx::InlineVector<std::int8_t, 4>;
  CHECK(Small(std::vector<int>{-128, 127}) == Small{-128, 127});
  CHECK(contains(message_of<lx::ArgumentError>([] { Small(std::vector<std::uint64_t>{128}); }),
                 {"the value 128 ", "between -128 and 127"}));

  static_assert(std::is_convertible_v<std::vector<int>, lx::Shape>);
  static_assert(!std::is_constructible_v<lx::Shape, const char(&)[3]>);
  static_assert(!std::is_constructible_v<lx::Shape, std::string>);
  static_assert(!std::is_constructible_v<lx::Shape, const char*, const char*>);
  static_assert(!std::is_constructible_v<lx::Shape, std::vector<bool>>);
  static_assert(!std::is_constructible_v<lx::Shape, std::vector<double>>);
  static_assert(!std::is_constructible_v<lx::InlineVector<float, 2>, std::vector<double>>);
  static_assert(std::is_constructible_v<lx::InlineVector<bool, 2>, std::vector<bool>>);
}

TEST_CASE("an inline vector of one size or value says which is which") {
  CHECK(lx::Shape::filled(3, 0) == lx::Shape{0, 0, 0});
  CHECK(lx::Shape::filled(2, 7) == lx::Shape{7, 7});
  CHECK_THROWS_AS(lx::Shape::filled(9, 1), lx::NotSupportedError);
  static_assert(!std::is_constructible_v<lx::Shape, std::size_t>);
  static_assert(!std::is_constructible_v<lx::Shape, std::size_t, std::size_t>);
}

TEST_CASE("shapes count their elements and refuse to overflow") {
  CHECK(lx::element_count({}) == 1);
  CHECK(lx::element_count({3, 0, 5}) == 0);
  CHECK(lx::element_count({3, 4}) == 12);
  CHECK(lx::bracketed(lx::Shape{3, 4}) == "[3, 4]");
  CHECK(lx::bracketed(lx::Shape{}) == "[]");
  const std::size_t huge = std::size_t{1} << 40;
  CHECK(contains(
      message_of<lx::ArgumentError>([&] { (void)lx::element_count({huge, huge}); }),
      {"shape [1099511627776, 1099511627776] has more than 2^64 elements", "hint: check"}));
  CHECK(lx::box_shape({{1, 4}, {0, 2}}) == lx::Shape{3, 2});
  CHECK(contains(message_of<lx::ArgumentError>([] { (void)lx::box_shape({{1, 4}, {3, 2}}); }),
                 {"dimension 1 of a box: [3, 2)", "hint: a slice"}));
}

TEST_CASE("bytes that overflow are an error that names the element's size") {
  CHECK(lx::byte_count({3, 4}, 8) == 96);
  CHECK(contains(
      message_of<lx::ArgumentError>([] { (void)lx::byte_count({std::size_t{1} << 62}, 4); }),
      {"shape [4611686018427387904] of 4-byte elements has more than 2^64 bytes", "hint: check"}));
}

TEST_CASE("element types know their size and name") {
  CHECK(lx::element_type_of<float> == lx::ElementType::float32);
  CHECK(lx::element_type_of<std::int64_t> == lx::ElementType::int64);
  CHECK(lx::element_type_of<bool> == lx::ElementType::boolean);
  CHECK(lx::name(lx::ElementType::uint16) == "uint16");
  CHECK(lx::element_size(lx::ElementType::complex128) == 16);
  static_assert(!lx::Element<std::string>);
  static_assert(!lx::NamedElement<long double>);
}

TEST_CASE("the log goes to the program's sink, and back to the default one") {
  std::vector<std::pair<lx::LogLevel, std::string>> lines;
  lx::set_log_sink(
      [&](lx::LogLevel level, std::string_view text) { lines.emplace_back(level, text); });
  lx::log(lx::LogLevel::info, "one");
  lx::log(lx::LogLevel::warning, "two");
  lx::set_log_sink({});
  lx::log(lx::LogLevel::info, "not seen");
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == std::pair(lx::LogLevel::info, std::string("one")));
  CHECK(lines[1] == std::pair(lx::LogLevel::warning, std::string("two")));
}

TEST_CASE("what the log's sink throws reaches the caller, and the log goes on") {
  const auto before = lx::set_log_sink(
      [](lx::LogLevel, std::string_view) { throw std::domain_error("the sink is full"); });
  CHECK(message_of<std::domain_error>([] { lx::log(lx::LogLevel::info, "one"); }) ==
        "the sink is full");
  lx::set_log_sink(before);
  CHECK_NOTHROW(lx::log(lx::LogLevel::info, "two"));
}

namespace {
thread_local int state = 0;
struct StateScope {
  int before;
  explicit StateScope(int value) : before(std::exchange(state, value)) {}
  ~StateScope() { state = before; }
};
}  // namespace

TEST_CASE("a thread's state reaches the threads that work on its behalf") {
  lx::inherit_in_threads([]() -> lx::AdoptThreadState {
    if (state == 0) return {};
    return
        [value = state]() -> std::shared_ptr<void> { return std::make_shared<StateScope>(value); };
  });
  const StateScope mine(5);
  const auto context = lx::ThreadContext::capture();
  int inside = -1, after = -1;
  std::thread([&] {
    {
      const auto scope = context.adopt();
      inside = state;
    }
    after = state;
  }).join();
  CHECK(inside == 5);
  CHECK(after == 0);
  CHECK(state == 5);
}

TEST_CASE("what captures a thread's state may register another one") {
  static bool once = false;
  lx::inherit_in_threads([]() -> lx::AdoptThreadState {
    if (!std::exchange(once, true)) lx::inherit_in_threads([] { return lx::AdoptThreadState(); });
    return {};
  });
  (void)lx::ThreadContext::capture();
  CHECK(once);
}

TEST_CASE("an empty function captures no thread's state") {
  CHECK(contains(message_of<lx::ArgumentError>([] { lx::inherit_in_threads({}); }),
                 {"inherit_in_threads: an empty function", "hint: one that"}));
}
