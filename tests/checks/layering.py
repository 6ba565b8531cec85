#!/usr/bin/env python3
"""Checks the shape of the source tree: who may include whom, the header list, sizes, top level.

usage: layering.py [ROOT] [--write]

--write brings the two lists of headers, cmake/headers.cmake and the umbrella loadax.hpp, up to date
with the tree first.
Prints one line for each violation and exits 1 where there is one.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

# room -> the rooms that it builds on directly; it may include them and what they build on.
ROOMS = {
    "core": [],
    "array": ["core"],
    "device": ["core"],
    "comm": ["core"],
    "mesh": ["device"],
    "data": ["array"],
    "format": ["array", "data"],
    "sharding": ["mesh"],
    "placement": ["sharding", "array", "comm"],
    "spmd": ["placement"],
    "feed": ["placement", "data"],
    "parallel": ["spmd"],
    "checkpoint": ["placement", "format", "feed"],
    "show": ["parallel", "checkpoint"],
}
# A room per outside engine -> the includes that belong to it alone.
ENGINES = {
    "mpi": r"mpi\.h|mpi-ext\.h",
    "hwloc": r"hwloc(\.h|/.*)",
    "cuda": r"(cuda|nvml|nvrtc).*",
    "nccl": r"nccl.*",
    "torch": r"(torch|ATen|c10)/.*",
    "safetensors": r"nlohmann/.*",
    "gzip": r"zlib\.h",
    "image": r"(turbo)?jpeg(lib)?\.h|png\.h",
}
# The rooms that are a component of their own, since they need more than the core does.
OWN_COMPONENT = {"checkpoint", *ENGINES}
# Other includes -> the headers that may have them (a regular expression over room/file).
LIBRARIES = {
    r"fmt/.*": r".*",
    r"boost/.*": r"mesh/rules\.hpp",
    r"nlohmann/.*": r"checkpoint/.*",
    r"(unistd|fcntl|pthread|sched|dlfcn|sys/[a-z]+)\.h": r".*",
}
MAX_HEADER_LINES = 400
TOP_LEVEL = {"include", "tests", "examples", "cmake", "CMakeLists.txt", "README.md", "LICENSE"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def reach(room):
    """The room and everything below it."""
    rooms = {room}
    for below in ROOMS.get(room, ROOMS):  # an engine's room may include any of them
        rooms |= reach(below)
    return rooms


def room_of(path):
    """The room of `room/file.hpp`; '' for the umbrella, which is in none."""
    return path.split("/")[0] if "/" in path else ""


def check_include(header, quote, included):
    """What is wrong with one include of `header`, a path below include/loadax, or None."""
    room = room_of(header)
    if quote == '"':
        return f'includes "{included}" in quotes: write <loadax/room/file.hpp>'
    if included.startswith("loadax/"):
        target = room_of(included.removeprefix("loadax/"))
        if target in ENGINES and target != room:
            return f"includes <{included}>: only the room {target} itself may"
        if target == "show" and room != "show":
            return f"includes <{included}>: nothing includes pictures"
        if target in reach(room):
            return None
        return f"includes <{included}>: {room} does not build on {target or 'the umbrella'}"
    if "." not in included and "/" not in included:
        return None  # the standard library
    for engine, pattern in ENGINES.items():
        if engine == room and re.fullmatch(pattern, included):
            return None
    for pattern, headers in LIBRARIES.items():
        if re.fullmatch(pattern, included) and re.fullmatch(headers, header):
            return None
    for engine, pattern in ENGINES.items():
        if re.fullmatch(pattern, included):
            return f"includes <{included}>: only the room {engine} may"
    return f"includes <{included}>: not a library that this header may use"


def check_header(header, text):
    lines = text.splitlines()
    if len(lines) >= MAX_HEADER_LINES:
        yield f"{len(lines)} lines: headers stay below {MAX_HEADER_LINES}"
    if "#pragma once" not in lines:
        yield "has no #pragma once"
    room = room_of(header)
    if room not in ROOMS and room not in ENGINES:
        yield f"{room or 'the root'} is no room of the library"
    if "namespace loadax" in text and "inline namespace v0 {" not in text:
        yield "declares names outside `inline namespace v0`"
    for number, line in enumerate(lines, 1):
        if match := INCLUDE.match(line):
            if problem := check_include(header, *match.groups()):
                yield f"line {number} {problem}"


def cmake_list(headers):
    """The text of cmake/headers.cmake for these headers."""
    rooms = {}
    for header in headers:
        rooms.setdefault(room_of(header) or "umbrella", []).append(header)
    order = [room for room in [*ROOMS, "umbrella", *ENGINES] if room in rooms]
    core = [room for room in order if room not in OWN_COMPONENT]
    text = "# The headers, one list for each room; tests/checks/layering.py --write keeps it.\n"
    text += f"set(LOADAX_CORE_ROOMS {' '.join(core)})\n"
    for room in order:
        text += f"\nset(LOADAX_HEADERS_{room}\n"
        text += "".join(f"  {header}\n" for header in sorted(rooms[room])) + ")\n"
    return text


def umbrella(root, headers):
    """The text of loadax.hpp: each header stands behind those that it includes, so that the compiler
    names no other header on the way to an error in it."""
    core = [header for header in headers if room_of(header) not in OWN_COMPONENT]
    seen, order = set(), []

    def add(header):
        if header in seen or header not in core:
            return
        seen.add(header)
        for line in (root / "include" / "loadax" / header).read_text().splitlines():
            if match := INCLUDE.match(line):
                add(match[2].removeprefix("loadax/"))
        order.append(header)

    for header in sorted(core):
        add(header)
    text = "// Everything that needs no engine beyond fmt and Boost.Regex.\n#pragma once\n\n"
    text += "// clang-format off: in order of dependence\n"
    return text + "".join(f"#include <loadax/{header}>\n" for header in order)


def lists(root, headers):
    """(file, what it must hold) for the two lists of headers."""
    yield root / "cmake" / "headers.cmake", cmake_list([*headers, "loadax.hpp"])
    yield root / "include" / "loadax" / "loadax.hpp", umbrella(root, headers)


def top_level(root):
    try:
        listed = subprocess.run(
            ["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard"],
            capture_output=True, text=True, check=True).stdout.split("\n")
        return {line.split("/")[0] for line in listed if line and (root / line).exists()}
    except (OSError, subprocess.CalledProcessError):
        return {entry.name for entry in root.iterdir() if not entry.name.startswith("build")}


def headers_of(root):
    """Every header but the umbrella, as room/file.hpp."""
    include = root / "include" / "loadax"
    found = sorted(path.relative_to(include).as_posix() for path in include.rglob("*.hpp"))
    return [header for header in found if header != "loadax.hpp"]


def violations(root):
    include = root / "include" / "loadax"
    headers = headers_of(root)
    if not headers:
        yield f"{include}: no headers"
    for header in headers:
        for problem in check_header(header, (include / header).read_text()):
            yield f"include/loadax/{header}: {problem}"
    for path in sorted((root / "include").rglob("*")):
        if path.is_file() and (path.suffix != ".hpp" or include not in path.parents):
            yield f"{path.relative_to(root)}: not a header of include/loadax/"
    for path, text in lists(root, headers):
        if not path.exists() or path.read_text() != text:
            yield f"{path.relative_to(root)}: is not the tree; run tests/checks/layering.py --write"
    for entry in sorted(top_level(root) - TOP_LEVEL):
        if not entry.startswith("."):
            yield f"{entry}: does not belong at the top level"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).parents[2])
    parser.add_argument("--write", action="store_true", help="update the lists of headers first")
    options = parser.parse_args()
    if options.write:
        for path, text in lists(options.root, headers_of(options.root)):
            path.write_text(text)
    found = list(violations(options.root))
    print("\n".join(found) if found else "layering: no violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
