#!/usr/bin/env python3
"""The programs in the README and in header comments, as tests.

usage: snippets.py extract OUT FILE...   write each ```cpp block as a program, print their names
       snippets.py run PROGRAM EXPECTED  run one and compare what it prints

In a header a block stands in `///` lines. A block without main() is the inside of one. The block
after it, where it is marked ```text, is what it prints; else it need only end with exit code 0.
"""

import re
import subprocess
import sys
from pathlib import Path

PRELUDE = "#include <loadax/loadax.hpp>\n\nnamespace lx = loadax;\n\n"


def blocks(text):
    """(line number, language, content) of each fenced block."""
    content, language, start = None, "", 0
    for number, line in enumerate(text.splitlines(), 1):
        line = re.sub(r"^\s*/// ?", "", line)
        if not line.startswith("```"):
            if content is not None:
                content.append(line)
        elif content is None:
            content, language, start = [], line[3:].strip(), number
        else:
            yield start, language, "\n".join(content) + "\n"
            content = None
    if content is not None:
        raise ValueError(f"the block that starts on line {start} has no end")


def program(code):
    if re.search(r"^int main\(", code, re.MULTILINE):
        return code
    lines = code.splitlines(keepends=True)
    includes = "".join(line for line in lines if line.startswith("#include"))
    body = "".join(line for line in lines if not line.startswith("#include"))
    return includes + PRELUDE + "int main() {\n" + body + "}\n"


def extract(out, files):
    out.mkdir(parents=True, exist_ok=True)
    for file in files:
        try:
            found = list(blocks(file.read_text()))
        except ValueError as error:
            sys.exit(f"{file}: {error}")
        following = [*found[1:], (0, "", "")]
        for (line, language, code), (_, next_language, output) in zip(found, following):
            if language != "cpp":
                continue
            name = f"{file.stem.lower()}_{line}"
            texts = {".cpp": f'#line {line + 1} "{file}"\n{program(code)}'}
            texts[".expected"] = output if next_language == "text" else ""
            for suffix, text in texts.items():
                path = out / (name + suffix)
                if not path.exists() or path.read_text() != text:  # else it would compile again
                    path.write_text(text)
            print(name)


def run(executable, expected):
    done = subprocess.run([executable], capture_output=True, text=True, check=False)
    sys.stderr.write(done.stderr)
    if done.returncode != 0:
        sys.exit(f"{executable.name}: exit code {done.returncode}")
    wanted = expected.read_text()
    if wanted and done.stdout.rstrip() != wanted.rstrip():
        sys.exit(f"{executable.name} printed:\n{done.stdout}\nand the page says:\n{wanted}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["extract", out, *files] if files:
            extract(Path(out), [Path(file) for file in files])
        case ["run", executable, expected]:
            run(Path(executable), Path(expected))
        case _:
            sys.exit(__doc__)
