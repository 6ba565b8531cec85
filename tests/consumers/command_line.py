#!/usr/bin/env python3
"""Compiles and runs a program as a page says: by a line of its ```sh blocks.

usage: command_line.py PAGE TEXT WORK_DIR SOURCES [WORD=REPLACEMENT...]

The line is the only one that contains TEXT; it compiles `program.cpp`. A WORD is replaced wherever
it stands in it. Each of SOURCES, separated by commas, is compiled by the line and `-c`, which a
compiler cache knows; then the line links them.
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


def replaced(line, by):
    for word in by:
        if word not in line:
            sys.exit(f"no {word!r} in: {line}")
    return re.sub("|".join(map(re.escape, by)), lambda match: by[match[0]], line)


def main(page, text, work_dir, sources, *replacements):
    line = line_of(Path(page), text)
    by = dict(replacement.split("=", 1) for replacement in replacements)
    work_dir = Path(work_dir)
    work_dir.mkdir(parents=True, exist_ok=True)

    def run(program, more=""):
        command = replaced(line, {**by, "program.cpp": program}) + more
        print(command, flush=True)
        subprocess.run(["sh", "-c", command], cwd=work_dir, check=True)

    objects = []
    for source in sources.split(","):
        objects.append(Path(source).stem + ".o")
        run(source, f" -c -o {objects[-1]}")
    (work_dir / "a.out").unlink(missing_ok=True)
    run(" ".join(objects))
    subprocess.run([work_dir / "a.out"], check=True)


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
