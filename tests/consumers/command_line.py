#!/usr/bin/env python3
"""Runs a line of a page's ```sh blocks that compiles `program.cpp`, and the program.

usage: command_line.py PAGE TEXT WORK_DIR [WORD=REPLACEMENT...]

The line is the only one that contains TEXT. A WORD is replaced wherever it stands in it.
"""

import re
import subprocess
import sys
from pathlib import Path


def line_of(page, text):
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if text in line]
    if len(lines) != 1:
        sys.exit(f"{page}: {len(lines)} lines in its sh blocks contain {text!r}, not one")
    return lines[0]


def main(page, text, work_dir, *replacements):
    line = line_of(Path(page), text)
    by = dict(replacement.split("=", 1) for replacement in replacements)
    for word in by:
        if word not in line:
            sys.exit(f"{page}: no {word!r} in: {line}")
    line = re.sub("|".join(map(re.escape, by)) or "$^", lambda match: by[match[0]], line)
    program = Path(work_dir) / "a.out"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.unlink(missing_ok=True)
    print(line, flush=True)
    subprocess.run(["sh", "-c", line], cwd=work_dir, check=True)
    subprocess.run([program], check=True)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
