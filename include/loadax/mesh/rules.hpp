// Mesh shapes chosen by a selector, such as the name of a machine, through regular expressions.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include <boost/regex.hpp>
#include <fmt/core.h>

#include <loadax/core/error.hpp>
#include <loadax/core/log.hpp>
#include <loadax/mesh/hybrid_mesh_shape.hpp>

namespace loadax {
inline namespace v0 {

/// How much of the selector a rule's pattern must match.
enum class RuleMatch {
  /// From the first character, but not to the last: "h100" also matches "h100-8". As Python's
  /// re.match.
  start,
  /// All of it, as Python's re.fullmatch.
  full
};

/// The mesh shape for the selectors that a pattern (a Perl regular expression) matches.
template <std::size_t Rank = dynamic_rank>
struct MeshRule {
  std::string pattern;
  AnyMeshShape<Rank> shape;
  RuleMatch match = RuleMatch::start;
};

namespace detail {

// Templates, so that Boost.Regex is instantiated only where rules are used.

template <std::size_t Rank>
boost::regex compile(const MeshRule<Rank>& rule) {
  try {
    return boost::regex(rule.pattern, boost::regex::perl);
  } catch (const std::runtime_error& error) {
    throw ArgumentError(
        fmt::format("mesh rule '{}' is no regular expression: {}", rule.pattern, error.what()),
        "patterns are Perl's; escape what should stand for itself with a backslash");
  }
}

template <std::size_t Rank>
bool matches(const MeshRule<Rank>& rule, const boost::regex& regex, std::string_view selector) {
  // As in Python, a dot is no line end, and ^ and $ are the selector's, not a line's.
  using namespace boost::regex_constants;
  const auto flags = match_default | match_single_line | match_not_dot_newline;
  try {
    return rule.match == RuleMatch::full
               ? boost::regex_match(selector.begin(), selector.end(), regex, flags)
               : boost::regex_search(selector.begin(), selector.end(), regex,
                                     flags | match_continuous);
  } catch (const std::runtime_error& error) {
    throw ArgumentError(fmt::format("mesh rule '{}' cannot be matched against '{}': {}",
                                    rule.pattern, selector, error.what()),
                        "avoid repetitions within repetitions, such as (a+)+");
  }
}

}  // namespace detail

/// The first rule whose pattern matches, or null. Which one it was is logged at info level. Every
/// pattern is checked, those after the match too.
/// @throws ArgumentError for an invalid pattern, and for one whose match would take too long
/// @complexity O(rules)
template <std::size_t Rank>
const MeshRule<Rank>* first_matching_rule(std::span<const MeshRule<Rank>> rules,
                                          std::string_view selector) {
  const MeshRule<Rank>* found = nullptr;
  for (const MeshRule<Rank>& rule : rules) {
    const boost::regex regex = detail::compile(rule);
    if (!found && detail::matches(rule, regex, selector)) found = &rule;
  }
  log(LogLevel::info,
      found ? fmt::format("mesh rule {} of {}, '{}', matches selector '{}': {}",
                          found - rules.data() + 1, rules.size(), found->pattern, selector,
                          to_string(found->shape))
            : fmt::format("none of {} mesh rules matches selector '{}'", rules.size(), selector));
  return found;
}

}  // namespace v0
}  // namespace loadax
