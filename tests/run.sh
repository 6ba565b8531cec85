#!/usr/bin/env bash
# Builds and runs every test; installs on Debian what it needs for that.
# usage: tests/run.sh [CTEST_OPTION...], such as: tests/run.sh -R mesh
# Options choose what runs, of what is all built: the first time takes some ten minutes. To build
# one room's tests alone: cmake --build build --target test_mesh
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../cmake/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../cmake/setup.sh"

require_packages "${library_packages[@]}" "${example_packages[@]}" "${test_packages[@]}"
configure build -DCMAKE_BUILD_TYPE=Release \
  -DLOADAX_BUILD_TESTS=ON -DLOADAX_BUILD_EXAMPLES=ON -DLOADAX_BUILD_BENCHMARKS=OFF
note "building all tests and examples"
build build
run_tests build "$@"
