#!/usr/bin/env bash
# Runs every fuzz target of a build with LOADAX_FUZZ: fuzz.sh BUILD_DIRECTORY SECONDS
# New inputs are kept in the build directory; one that fails is printed as base64.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$1
seconds=$2
count=0
for target in "$build"/tests/fuzz/fuzz_*; do
  [[ -f $target && -x $target ]] || continue
  name=$(basename "$target")
  name=${name#fuzz_}
  corpus=$root/tests/fuzz/corpus/$name
  [[ -d $corpus ]] || { echo "no corpus $corpus" && exit 1; }
  mkdir -p "$build/corpus/$name"
  "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=4096 \
    -print_final_stats=1 -artifact_prefix="$build/" "$build/corpus/$name" "$corpus"
  count=$((count + 1))
done
echo "fuzz: $count targets, $seconds s each"
((count > 0))
