#!/usr/bin/env bash
# Builds one benchmark in Release mode and runs it; installs on Debian what it needs for that.
# usage: tests/bench.sh NAME [ARGUMENT...]
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../cmake/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../cmake/setup.sh"

name=${1:-}
if [[ $name != [a-z]* || ! -f $loadax_root/tests/bench/$name.cpp ]]; then
  [[ -z $name ]] || note "there is no benchmark $name"
  note "usage: $0 NAME [ARGUMENT...]; known benchmarks:"
  for file in "$loadax_root"/tests/bench/*.cpp; do
    note "  $(basename "$file" .cpp)"
  done
  exit 2
fi
shift

require_packages "${library_packages[@]}"
configure build-bench -DCMAKE_BUILD_TYPE=Release \
  -DLOADAX_BUILD_TESTS=OFF -DLOADAX_BUILD_EXAMPLES=OFF -DLOADAX_BUILD_BENCHMARKS=ON
build build-bench "bench_$name"
exec "$loadax_root/build-bench/tests/bench/bench_$name" "$@"
