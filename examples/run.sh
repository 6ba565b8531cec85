#!/usr/bin/env bash
# Builds one example and runs it; installs on Debian what it needs for that.
# usage: examples/run.sh [NAME] [ARGUMENT...]; without a name: fsdp_digits
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../cmake/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../cmake/setup.sh"

# The files are numbered in the order in which to read them: 3_fsdp_digits.cpp is fsdp_digits.
known=()
for file in "$loadax_root"/examples/[0-9]*_*.cpp; do
  known+=("$(basename "$file" .cpp | sed 's/^[0-9]*_//')")
done

name=fsdp_digits
if (($#)) && [[ $1 != -* ]]; then
  name=${1#[0-9]_}
  shift
fi
[[ " $* " != *" --help "* ]] || note "examples: ${known[*]}; this is $name"
if [[ " ${known[*]} " != *" $name "* ]]; then
  note "there is no example $name; known examples:"
  printf '  %s\n' "${known[@]}" >&2
  exit 2
fi

require_packages "${library_packages[@]}" "${example_packages[@]}"
# A build directory that runs the tests too keeps doing so.
tests=()
[[ -f $loadax_root/build/CMakeCache.txt ]] ||
  tests=(-DLOADAX_BUILD_TESTS=OFF -DLOADAX_BUILD_BENCHMARKS=OFF)
configure build -DCMAKE_BUILD_TYPE=Release -DLOADAX_BUILD_EXAMPLES=ON "${tests[@]}"
[[ -x $loadax_root/build/examples/$name ]] || note "building $name, about a minute the first time"
build build "$name"
exec "$loadax_root/build/examples/$name" "$@"
