# shellcheck shell=bash
# What the scripts share: the packages that each needs, getting them, configuring a build.
# Sourced after `set -euo pipefail`; needs bash and, on Debian, nothing else.

loadax_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Names in Debian 12 and 13. The versions that the library needs at least, for other systems:
# CMake 3.25, g++ 12 or clang 19, fmt 9, Boost.Regex 1.74, Catch2 2.13, Eigen 3.4, CLI11 2.1,
# nlohmann-json 3.11.
# shellcheck disable=SC2034 # used by the scripts that source this file
{
  library_packages=(g++ cmake ninja-build libfmt-dev libboost-regex-dev)
  example_packages=(libeigen3-dev libcli11-dev)
  test_packages=(catch2 nlohmann-json3-dev git pkgconf python3)
}

note() { printf '%s\n' "$*" >&2; }

die() {
  note "$0: $1"
  exit "${2:-1}"
}

is_debian_like() { command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; }

# missing_packages PACKAGE...: those that are not installed, one a line.
missing_packages() {
  local package
  for package in "$@"; do
    # shellcheck disable=SC2016 # dpkg-query's own variable
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
      printf '%s\n' "$package"
  done
}

# require_packages PACKAGE...: installs what is missing, or says what to install and exits.
require_packages() {
  if ! is_debian_like; then
    require_tools "$@"
    return
  fi
  local missing=()
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0

  local as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null ||
      die "not root, and there is no sudo; please install: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  note "installing: ${missing[*]}"
  "${as_root[@]}" apt-get update -q >&2
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "${missing[@]}" >&2
}

# require_tools PACKAGE...: where there is no apt, exits unless the build tools are there; CMake
# says which libraries are missing.
require_tools() {
  local tool absent=()
  for tool in cmake ninja "${CXX:-c++}"; do
    command -v "$tool" >/dev/null || absent+=("$tool")
  done
  note "no apt-get here: these must be installed (Debian's names): $*"
  note "  Fedora: gcc-c++ cmake ninja-build fmt-devel boost-devel eigen3-devel cli11-devel" \
    "catch-devel json-devel"
  note "  Homebrew: cmake ninja fmt boost eigen cli11 catch2 nlohmann-json"
  ((${#absent[@]} == 0)) || die "not found: ${absent[*]}"
}

# configure BUILD_DIRECTORY [CMAKE_OPTION...]: quiet unless it fails; skips are shown.
# LOADAX_CMAKE_OPTIONS in the environment adds options, separated by spaces.
configure() {
  local directory=$1 log extra=() launcher=()
  shift
  read -r -a extra <<<"${LOADAX_CMAKE_OPTIONS:-}"
  command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  mkdir -p "$loadax_root/$directory"
  log=$loadax_root/$directory/configure.log
  if ! cmake -S "$loadax_root" -B "$loadax_root/$directory" -G Ninja "${launcher[@]}" "$@" \
    "${extra[@]}" >"$log" 2>&1; then
    cat "$log" >&2
    die "configuring $directory failed"
  fi
  grep '^SKIPPED: ' "$log" || true
}

# build BUILD_DIRECTORY [TARGET...]: shows progress on a terminal, else only what fails.
build() {
  local command=(cmake --build "$loadax_root/$1" --target "${@:2}")
  (($# > 1)) || command+=(all)
  if [[ -t 2 ]]; then
    "${command[@]}" >&2
  else
    "${command[@]}" -- --quiet | sed '/^ninja: no work to do\.$/d' >&2
  fi
}

# run_tests BUILD_DIRECTORY [CTEST_OPTION...]: shows skips of tests that passed, too.
run_tests() {
  local directory=$loadax_root/$1 status=0
  shift
  ctest --test-dir "$directory" --output-on-failure --no-tests=error -j "$(nproc)" "$@" ||
    status=$?
  grep -h '^SKIPPED: ' "$directory/Testing/Temporary/LastTest.log" || true
  return "$status"
}
