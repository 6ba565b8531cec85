#!/usr/bin/env bash
# Checks how fsdp_digits ended at its default settings: accuracy.sh LOG
# The last line is the one that the README shows, with a test accuracy of at least 0.90.
set -euo pipefail

line=$(tail -n 1 "$1")
form='^fsdp_digits: devices=8 mesh=\(data=1, model=8\) epochs=[0-9]+ loss=[0-9.e+-]+'
form+=' test_accuracy=([0-9.]+)$'
if [[ ! $line =~ $form ]]; then
  echo "fsdp_digits ended with another line: $line"
  exit 1
fi
if ! awk -v accuracy="${BASH_REMATCH[1]}" 'BEGIN { exit !(accuracy >= 0.90) }'; then
  echo "fsdp_digits is not accurate enough: $line"
  exit 1
fi
