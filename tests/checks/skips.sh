#!/usr/bin/env bash
# Compares what was skipped with what may be: skips.sh EXPECTED LOG...
# A skip is a line `SKIPPED: <what>: <why>`. Any difference, either way, is a failure, but for the
# lines of EXPECTED that say `MAY BE SKIPPED: <what>: <why>`: those depend on the machine.
set -euo pipefail

expected=$1
shift
seen=$(cat "$@" | sed -n 's/^\(-- \)\{0,1\}\(SKIPPED: .*\)$/\2/p' | sort -u)
wanted=$(grep '^SKIPPED: ' "$expected" | sort -u || true)
optional=$(sed -n 's/^MAY BE \(SKIPPED: .*\)$/\1/p' "$expected")
[[ -z $optional ]] || seen=$(grep -vxF -- "$optional" <<<"$seen" || true)
if [[ $seen == "$wanted" ]]; then
  echo "skips: as expected ($(grep -c . <<<"$seen" || true))"
  exit 0
fi
echo "skips differ from $expected (< expected, > seen):"
diff <(printf '%s\n' "$wanted") <(printf '%s\n' "$seen") | grep '^[<>] .'
exit 1
