#!/usr/bin/env bash
# Feeds every check of this folder what it must refuse. A check that cannot fail checks nothing.
# shellcheck disable=SC2016 # backquotes in pages are no commands
set -euo pipefail

checks=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$checks/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

# refuses WHAT TEXT COMMAND...: the command must fail and print TEXT.
refuses() {
  local what=$1 text=$2 output
  shift 2
  if output=$("$@" 2>&1); then
    echo "FAILED: $what: accepted"
  elif [[ $output != *"$text"* ]]; then
    printf 'FAILED: %s: refused without saying "%s":\n%s\n' "$what" "$text" "$output"
  else
    return 0
  fi
  failures=$((failures + 1))
}

# accepts WHAT COMMAND...: the command must succeed.
accepts() {
  local what=$1 output
  shift
  if ! output=$("$@" 2>&1); then
    printf 'FAILED: %s: refused:\n%s\n' "$what" "$output"
    failures=$((failures + 1))
  fi
}

# A small tree in which the layering check finds nothing.
fresh_tree() {
  rm -rf "$scratch/tree"
  mkdir -p "$scratch/tree/cmake" "$scratch/tree/include/loadax/"{core,array,device,mesh,show}
  local header
  for header in core/a array/b device/c mesh/rules show/d; do
    write_header "$header.hpp"
  done
  "$checks/layering.py" "$scratch/tree" --write >/dev/null
}

# write_header PATH [LINE...]: a header below include/loadax with these lines in it.
write_header() {
  local path=$scratch/tree/include/loadax/$1
  shift
  mkdir -p "$(dirname "$path")"
  printf '%s\n' '#pragma once' "$@" 'namespace loadax {' 'inline namespace v0 {' '}' '}' >"$path"
}

# misplaced WHAT TEXT HEADER LINE...: the layering check must refuse a tree with this header.
misplaced() {
  local what=$1 text=$2
  shift 2
  fresh_tree
  write_header "$@"
  "$checks/layering.py" "$scratch/tree" --write >/dev/null || true
  refuses "$what" "$text" "$checks/layering.py" "$scratch/tree"
}

fresh_tree
accepts "a tree without fault" "$checks/layering.py" "$scratch/tree"
misplaced "core includes mesh" "core does not build on mesh" \
  core/a.hpp '#include <loadax/mesh/rules.hpp>'
misplaced "a neighbour on the same layer" "array does not build on device" \
  array/b.hpp '  # include <loadax/device/c.hpp>'
misplaced "a room includes the umbrella" "does not build on the umbrella" \
  core/a.hpp '#include <loadax/loadax.hpp>'
misplaced "a picture included" "nothing includes pictures" \
  mesh/x.hpp '#include <loadax/show/d.hpp>'
misplaced "MPI in a core room" "only the room mpi may" core/a.hpp '#include <mpi.h>'
misplaced "an engine's header elsewhere" "only the room mpi itself may" \
  mesh/x.hpp '#include <loadax/mpi/session.hpp>'
misplaced "Boost outside the rules" "not a library" mesh/x.hpp '#include <boost/regex.hpp>'
misplaced "an unknown library" "not a library" core/a.hpp '#include <Eigen/Dense>'
misplaced "a quoted include" "in quotes" core/a.hpp '#include "checked.hpp"'
misplaced "an unknown room" "is no room" attic/x.hpp ''
misplaced "a long header" "headers stay below" core/a.hpp "$(printf '//\n%.0s' {1..400})"
fresh_tree
write_header core/new.hpp
refuses "a header that is not listed" "headers.cmake: is not the tree" "$checks/layering.py" "$scratch/tree"
refuses "a header that the umbrella lacks" "loadax.hpp: is not the tree" \
  "$checks/layering.py" "$scratch/tree"
fresh_tree
printf '#pragma once\nnamespace loadax {}\n' >"$scratch/tree/include/loadax/core/a.hpp"
refuses "no inline namespace" "inline namespace v0" "$checks/layering.py" "$scratch/tree"
fresh_tree
sed -i '/#pragma once/d' "$scratch/tree/include/loadax/core/a.hpp"
refuses "no include guard" "#pragma once" "$checks/layering.py" "$scratch/tree"
fresh_tree
mkdir "$scratch/tree/attic"
refuses "a folder at the top level" "top level" "$checks/layering.py" "$scratch/tree"
fresh_tree
touch "$scratch/tree/include/loadax/core/a.cpp"
refuses "a source among the headers" "not a header" "$checks/layering.py" "$scratch/tree"

# A small tree whose one header throws, with these lines, which one test expects, with this one.
throwing_tree() {
  local test=$1
  shift
  rm -rf "$scratch/throwing"
  mkdir -p "$scratch/throwing/include/loadax/core" "$scratch/throwing/tests/"{core,checks}
  echo 'class ArgumentError : public detail::ErrorOn<std::invalid_argument> {};' \
    >"$scratch/throwing/include/loadax/core/error.hpp"
  printf '%s\n' "$@" >"$scratch/throwing/include/loadax/core/a.hpp"
  echo "$test" >"$scratch/throwing/tests/core/a.cpp"
}

# unpinned WHAT TEST [LINE...]: the test must not count as one that knows what the lines throw.
odd='if (n % 2) throw ArgumentError(fmt::format("the size {} of a pair " "is odd", n), "add one");'
expects='CHECK(contains(message, {"the size 3 of a pair is odd", "hint: "}));'
unpinned() {
  local what=$1 test=$2
  shift 2
  throwing_tree "$test" "${@:-$odd}"
  refuses "$what" "core/a.hpp:1: no test pins \"the size {} of a pair is odd\"" \
    "$checks/exceptions.py" "$scratch/throwing"
}

throwing_tree "$expects" "$odd"
accepts "a throw that a test knows" "$checks/exceptions.py" "$scratch/throwing"
unpinned "a throw that no test knows" ''
unpinned "a text in the name of a test" 'TEST_CASE("the size 3 of a pair is odd") {}'
unpinned "a text that must not be there" "${expects/contains/!contains}"
unpinned "a text in a comment" "// $expects"
unpinned "a text that a test throws itself" 'throw ArgumentError("the size 3 of a pair is odd");'
unpinned "the hint alone" 'CHECK(contains(message, {"hint: add one"}));'
unpinned "a few letters" 'CHECK(contains(message, {"3 of a p"}));'
unpinned "what is filled in" 'CHECK(contains(message, {"18446744073709551615"}));'
unpinned "two throws of one text" "$expects" "$odd" "$odd"
throwing_tree "$expects" "$odd" 'if (n == 0) detail::throw_bad("an empty pair");'
refuses "a phrase for a function that throws" 'a.hpp:2: no test pins "an empty pair"' \
  "$checks/exceptions.py" "$scratch/throwing"
throwing_tree "$expects" "$odd" 'auto e = std::make_exception_ptr(ArgumentError("an empty pair"));'
refuses "an error that is kept" 'a.hpp:2: no test pins "an empty pair"' \
  "$checks/exceptions.py" "$scratch/throwing"
throwing_tree '' "$odd"
excused=$scratch/throwing/tests/checks/exceptions.txt
echo 'core/a.hpp | the size {} of | needs an odd machine' >"$excused"
accepts "an excused throw" "$checks/exceptions.py" "$scratch/throwing"
echo 'core/a.hpp | the size {} of |' >"$excused"
refuses "an excuse without a reason" "exceptions.txt:1: gives no reason" \
  "$checks/exceptions.py" "$scratch/throwing"
throwing_tree "$expects" "$odd"
echo 'core/a.hpp | the size {} of | needs an odd machine' >"$excused"
refuses "an excuse that is not needed" "exceptions.txt:1: excuses no site that needs it" \
  "$checks/exceptions.py" "$scratch/throwing"

# snippet PAGE: extracts, compiles and runs the programs of a page.
snippet() {
  rm -rf "$scratch/snippets"
  "$checks/snippets.py" extract "$scratch/snippets" "$1" >"$scratch/names" || return 1
  local name
  while read -r name; do
    "${CXX:-g++}" -std=c++20 -o "$scratch/program" "$scratch/snippets/$name.cpp" || return 1
    "$checks/snippets.py" run "$scratch/program" "$scratch/snippets/$name.expected" || return 1
  done <"$scratch/names"
}
page=$scratch/page.md
program='#include <cstdio>\nint main() { std::puts("%s"); return %s; }'
# shellcheck disable=SC2059 # the program is the format
write_page() {
  printf '```cpp\n'"$program"'\n```\n\nIt prints:\n\n```text\none\n```\n' "$1" "$2" >"$page"
}
write_page one 0
accepts "a page that tells the truth" snippet "$page"
write_page two 0
refuses "a page that tells another output" "and the page says" snippet "$page"
write_page one 3
refuses "a program that fails" "exit code 3" snippet "$page"
printf '```cpp\nint main() { return nothing; }\n```\n' >"$page"
refuses "a program that does not compile" "page.md:2" snippet "$page"
printf '```cpp\nint main() {}\n' >"$page"
refuses "a block without an end" "has no end" snippet "$page"
printf '#pragma once\n/// Like this:\n/// ```cpp\n/// int main() { return nothing; }\n/// ```\n' \
  >"$scratch/header.hpp"
refuses "a wrong program in a header" "header.hpp:4" snippet "$scratch/header.hpp"

# compile_error LINE...: whether a file of these lines fails to compile as its first line says.
compile_error() {
  printf '%s\n' "$@" >"$scratch/must_fail.cpp"
  cmake -DCOMPILER="${CXX:-g++}" -DINCLUDES="$root/include;$root/tests" \
    -DFILE="$scratch/must_fail.cpp" -P "$root/tests/support/compile_error.cmake"
}
accepts "the text that was promised" compile_error \
  '// error: loadax: one' 'static_assert(false, "loadax: one");'
refuses "a program that compiles" "compiles" compile_error '// error: loadax: one' 'int one;'
refuses "another text" "do not say" compile_error \
  '// error: loadax: one' 'static_assert(false, "loadax: two");'
refuses "a text that stands too late" "do not say" compile_error \
  '// error: loadax: one' 'int a = nothing;' 'int b = nothing;' 'static_assert(false, "loadax: one");'
refuses "a file that promises nothing" "is not '// error: TEXT'" compile_error 'int a = nothing;'

expected=$scratch/expected-skips
log=$scratch/log
printf '# none but\nSKIPPED: this: for want of that\n' >"$expected"
printf 'text\n-- SKIPPED: this: for want of that\nSKIPPED: this: for want of that\n' >"$log"
accepts "the expected skip" "$checks/skips.sh" "$expected" "$log"
echo 'SKIPPED: more: why not' >>"$log"
refuses "a new skip" "> SKIPPED: more" "$checks/skips.sh" "$expected" "$log"
: >"$log"
refuses "an expected skip that did not happen" "< SKIPPED: this" \
  "$checks/skips.sh" "$expected" "$log"
printf 'MAY BE SKIPPED: it: for want of that\nMAY BE SKIPPED: or it: why\n' >"$expected"
accepts "an optional skip that did not happen" "$checks/skips.sh" "$expected" "$log"
echo 'SKIPPED: it: for want of that' >"$log"
accepts "an optional skip that happened" "$checks/skips.sh" "$expected" "$log"
echo 'SKIPPED: it: for want of that, too' >"$log"
refuses "an optional skip for another reason" "> SKIPPED: it: for want of that, too" \
  "$checks/skips.sh" "$expected" "$log"

ended=$scratch/ended
say() { printf 'epoch 1\nfsdp_digits: devices=%s mesh=(data=1, model=8) epochs=3 loss=0.2 %s\n' "$@"; }
say 8 test_accuracy=0.90 >"$ended"
accepts "an accurate model" "$checks/accuracy.sh" "$ended"
say 8 test_accuracy=0.89 >"$ended"
refuses "an inaccurate model" "not accurate enough" "$checks/accuracy.sh" "$ended"
say 8 test_accuracy=nan >"$ended"
refuses "no accuracy" "another line" "$checks/accuracy.sh" "$ended"
say 4 test_accuracy=0.95 >"$ended"
refuses "another number of devices" "another line" "$checks/accuracy.sh" "$ended"

# The scripts themselves: what they do with what they do not know.
refuses "an unknown example" "known examples" "$root/examples/run.sh" no_such_example
refuses "an unknown benchmark" "known benchmarks" "$root/tests/bench.sh" no_such_benchmark

if ((failures)); then
  echo "selftest: $failures checks accept what they must refuse"
  exit 1
fi
echo "selftest: every check refuses what it must"
