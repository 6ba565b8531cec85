#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <loadax/core/log.hpp>
#include <loadax/mesh/rules.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;

namespace {

using Rules = std::vector<lx::MeshRule<2>>;

const lx::MeshRule<2>* first(const Rules& rules, std::string_view selector) {
  return lx::first_matching_rule(std::span<const lx::MeshRule<2>>(rules), selector);
}

// What is logged while `action` runs, as level and text.
template <class Action>
std::vector<std::pair<lx::LogLevel, std::string>> logged(Action action) {
  std::vector<std::pair<lx::LogLevel, std::string>> lines;
  auto before = lx::set_log_sink(
      [&](lx::LogLevel level, std::string_view text) { lines.emplace_back(level, text); });
  action();
  lx::set_log_sink(std::move(before));
  return lines;
}

}  // namespace

TEST_CASE("the first rule that matches wins") {
  const Rules rules{{"a100.*", {8, 1}}, {"h100.*", {4, 2}}, {".*", {2, 4}}};
  CHECK(first(rules, "h100-8") == &rules[1]);
  CHECK(first(rules, "a100") == &rules[0]);
  CHECK(first(rules, "tpu") == &rules[2]);
}

TEST_CASE("a pattern must match from the selector's start, but not to its end") {
  const Rules rules{{"h100", {4, 2}}};
  CHECK(first(rules, "h100-8") == &rules[0]);
  CHECK(first(rules, "my-h100") == nullptr);
  const Rules either{{"a|h100", {4, 2}}};
  CHECK(first(either, "h100") == &either[0]);
  CHECK(first(either, "xa") == nullptr);
}

TEST_CASE("a full match takes the whole selector") {
  const Rules rules{{"h100", {4, 2}, lx::RuleMatch::full}, {"h100", {2, 4}}};
  CHECK(first(rules, "h100") == &rules[0]);
  CHECK(first(rules, "h100-8") == &rules[1]);
  const Rules alternatives{{"a|ab", {4, 2}, lx::RuleMatch::full}};
  CHECK(first(alternatives, "ab") == &alternatives[0]);
}

TEST_CASE("without a match there is no rule") {
  CHECK(first({{"h100", {4, 2}}}, "tpu-v4") == nullptr);
  CHECK(first({}, "tpu-v4") == nullptr);
}

TEST_CASE("which rule matched is logged at info level, and that none did") {
  const auto matched = logged([] { first({{"a", {8, 1}}, {"h100.*", {4, 2}}}, "h100-8"); });
  REQUIRE(matched.size() == 1);
  CHECK(matched[0].first == lx::LogLevel::info);
  CHECK(contains(matched[0].second, {"rule 2 of 2", "'h100.*'", "'h100-8'", "[4, 2]"}));
  const auto none = logged([] { first({{"a", {8, 1}}}, "tpu"); });
  REQUIRE(none.size() == 1);
  CHECK(contains(none[0].second, {"none of 1", "'tpu'"}));
}

TEST_CASE("an invalid pattern is an error that names it, also behind the rule that matches") {
  for (const char* pattern : {"h100(", "[a", "*", "a{2,1}"}) {
    CHECK(contains(message_of<lx::ArgumentError>([&] { first({{pattern, {4, 2}}}, "h100"); }),
                   {std::string("'") + pattern + "'", "no regular expression", "hint: "}));
    CHECK(contains(message_of<lx::ArgumentError>(
                       [&] { first({{"h100", {4, 2}}, {pattern, {4, 2}}}, "h100"); }),
                   {std::string("'") + pattern + "'"}));
  }
}

TEST_CASE("a pattern whose match would take for ever is an error that names it") {
  const std::string selector(200, 'a');
  for (const char* pattern : {"(a+)+b", "(a|aa)+b", "(a*)*b"}) {
    CHECK(contains(message_of<lx::ArgumentError>([&] { first({{pattern, {4, 2}}}, selector); }),
                   {std::string("'") + pattern + "'", "cannot be matched", "hint: "}));
  }
}

TEST_CASE("ten thousand rules are matched") {
  Rules rules;
  for (int i = 0; i < 10000; ++i) rules.push_back({"machine-" + std::to_string(i) + "$", {4, 2}});
  CHECK(first(rules, "machine-9999") == &rules[9999]);
}

TEST_CASE("dots, ^ and $ mean what they mean in Python", "[mesh]") {
  const auto matches = [](const char* pattern, const char* selector) {
    const std::vector<lx::MeshRule<1>> rules{{pattern, {8}}};
    return lx::first_matching_rule(std::span<const lx::MeshRule<1>>(rules), selector) != nullptr;
  };
  CHECK(matches("h100$", "h100"));
  CHECK_FALSE(matches("h100$", "h100\nfoo"));
  CHECK_FALSE(matches("a.b", "a\nb"));
  CHECK(matches("a.b", "a-b"));
}
