#!/usr/bin/env python3
"""Checks that a test knows the text of every exception that the library throws.

usage: exceptions.py [ROOT] [--pins]

A throw site is where a header makes an error, or calls a `throw_...` function with a phrase of its
own. A test pins it with a text in quotes that has enough of the words which the site itself writes
(what stands for `{}` does not count), and more of them than of any other site's: a text that suits
two sites alike pins neither. Texts of one list, as in `contains(message, {...})`, count together.

Prints one line for each site that no test pins and exits 1 where there is one. exceptions.txt, next
to this file in ROOT, excuses a site with a reason: `room/file.hpp | first words | reason`.
--pins prints instead which test pins which site.
"""

import argparse
import re
import sys
from bisect import bisect
from dataclasses import dataclass, field
from pathlib import Path

EXCUSED = "tests/checks/exceptions.txt"
ENOUGH = 12  # characters of a site's own words that a test must have, where it has as many
# Which argument of an error's constructor is the text; the next one is the hint.
TEXT_ARGUMENT = {"FormatError": 2, "TimeoutError": 1, "EngineError": 2}
NO_EXPECTATION = {"TEST_CASE", "TEMPLATE_TEST_CASE", "SECTION", "DYNAMIC_SECTION", "INFO", "WARN",
                  "CAPTURE", "FAIL", "CHECK_FALSE", "REQUIRE_FALSE"}
TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|(?P<raw>R"(?P<d>[^(\s]*)\((?P<body>.*?)\)(?P=d)")'
    r'|(?P<text>"(?:\\.|[^"\\\n])*")|\'(?:\\.|[^\'\\\n])+\'|(?P<name>[A-Za-z_]\w*)|\d[\w\'.]*'
    r'|(?P<mark>::|[^\s\w])', re.DOTALL)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
CLOSING = {"(": ")", "{": "}", "[": "]"}


@dataclass
class Token:
    kind: str  # "text", "name" or "mark"
    value: str
    line: int

    def is_mark(self, *values):
        return self.kind == "mark" and self.value in values


@dataclass
class Site:
    file: str
    line: int
    error: str  # "" where a throw_... function chooses it
    patterns: list  # of lists of pieces: the site's own words between what is filled in
    pins: list = field(default_factory=list)

    @property
    def words(self):
        return " / ".join("{}".join(pieces) for pieces in self.patterns) or "with_context"

    def __post_init__(self):
        self.own = sum(len(piece) for pieces in self.patterns for piece in pieces)
        self.enough = min(ENOUGH, self.own)


def tokens(text):
    """The tokens of C++ source, comments and numbers left out, adjacent texts joined."""
    ends = [match.end() for match in re.finditer("\n", text)]
    result = []
    for match in TOKEN.finditer(text):
        line = bisect(ends, match.start()) + 1
        if match["raw"] is not None or match["text"] is not None:
            value = (match["body"] if match["raw"] else
                     re.sub(r"\\(.)", lambda m: ESCAPES.get(m[1], m[1]), match["text"][1:-1]))
            if result and result[-1].kind == "text":
                result[-1].value += value
            else:
                result.append(Token("text", value, line))
        elif match["name"] or match["mark"]:
            kind = "name" if match["name"] else "mark"
            result.append(Token(kind, match[0], line))
    return result


def arguments(source, opening):
    """The arguments of the call whose bracket is source[opening], each a list of tokens."""
    result, depth = [[]], 0
    for token in source[opening:]:
        if token.is_mark(*CLOSING):
            depth += 1
            if depth == 1:
                continue
        elif token.is_mark(*CLOSING.values()):
            depth -= 1
            if depth == 0:
                break
        elif depth == 1 and token.is_mark(","):
            result.append([])
            continue
        result[-1].append(token)
    return result


def assigned(source, before, name):
    """The tokens of the last `name = ...;` that is in scope at a place of the source."""
    closed = 0
    for i in range(before, 0, -1):
        closed = max(closed + source[i].is_mark("}") - source[i].is_mark("{"), 0)
        is_name = source[i - 1].kind == "name" and source[i - 1].value == name
        if not closed and is_name and source[i].is_mark("=") and not source[i + 1].is_mark("="):
            return source[i:next(j for j in range(i, len(source)) if source[j].is_mark(";"))]
    return []


def pieces(text):
    return re.split(r"\{[^{}]*\}", text)


def patterns_of(source, at, argument):
    """What an argument writes itself, also by way of the variables in it."""
    texts = [token for token in argument if token.kind == "text"]
    for token in argument:
        if token.kind == "name":
            texts += [t for t in assigned(source, at, token.value) if t.kind == "text"]
    return [pieces(token.value) for token in texts if token.value]


def error_names(headers):
    """The errors of the library: those of core/error.hpp and what derives from them."""
    declared = headers.get("core/error.hpp", "")
    names = set(re.findall(r"class (\w+) : public detail::ErrorOn<", declared))
    for _ in range(2):
        for text in headers.values():
            for name, base in re.findall(r"(?:class|struct) (\w+) : (?:public )?(\w+)", text):
                if base in names:
                    names.add(name)
    return names


def sites_of(file, text, errors):
    """The throw sites of a header."""
    source = tokens(text)
    for i, token in enumerate(source[:-1]):
        if token.kind != "name" or not source[i + 1].is_mark("(", "{"):
            continue
        before = source[i - 1].value
        if token.value in errors and before not in ("class", "struct", "public"):
            given = arguments(source, i + 1)
            text_argument = TEXT_ARGUMENT.get(token.value, 0)
            if text_argument < len(given):
                yield Site(file, token.line, token.value,
                           patterns_of(source, i, given[text_argument]))
        elif token.value == "with_context" and before == "throw":
            yield Site(file, token.line, "", patterns_of(source, i, arguments(source, i + 1)[0]))
        elif token.value.startswith("throw_") and before != "void":
            words = [pieces(t.value) for given in arguments(source, i + 1)
                     for t in given if t.kind == "text" and " " in t.value]
            if words:
                yield Site(file, token.line, "", words)


@dataclass
class Expectation:
    place: str
    texts: list
    errors: set  # those that its statement names; empty: any


def nested(source):
    """The tokens as a tree: a list of tokens and, for each pair of brackets, of (head, list)."""
    stack = [[]]
    for i, token in enumerate(source):
        if token.is_mark(*CLOSING):
            inner = []
            stack[-1].append((i, inner))
            stack.append(inner)
        elif token.is_mark(*CLOSING.values()):
            if len(stack) > 1:
                stack.pop()
        else:
            stack[-1].append(token)
    return stack[0]


def statements(items):
    """The items between semicolons."""
    current = []
    for item in items:
        if isinstance(item, Token) and item.is_mark(";"):
            yield current
            current = []
        else:
            current.append(item)
    yield current


def names_in(items):
    for item in items:
        if isinstance(item, Token):
            if item.kind == "name":
                yield item.value
        else:
            yield from names_in(item[1])


def is_expected(source, opening, errors):
    """Whether texts in a bracket may be what a test expects: not names, inputs and denials."""
    head = opening - 1
    if source[head].kind != "name":
        return True
    name = source[head].value
    while head > 1 and source[head - 1].is_mark("::"):
        head -= 2
    return name not in errors and name not in NO_EXPECTATION and source[head - 1].value != "!"


def expectations_of(file, text, errors):
    """The texts that a test expects; those that stand side by side in one list are one."""
    source = tokens(text)

    def walk(items, named):
        for statement in statements(items):
            if len(statement) < len(items):  # a block, not a list
                named = errors.intersection(names_in(statement))
            side_by_side = [i for i in statement if isinstance(i, Token) and i.kind == "text"]
            if side_by_side:
                yield Expectation(f"{file}:{side_by_side[0].line}",
                                  [token.value for token in side_by_side], named)
            for item in statement:
                if not isinstance(item, Token) and is_expected(source, item[0], errors):
                    yield from walk(item[1], named)

    return list(walk(nested(source), set()))


def overlap(text, pattern):
    """How many characters of `pattern`, whose pieces follow each other with anything between, a
    text has that was cut out of such a message: whole pieces, but at the ends of the text."""
    # best[k][j]: characters so far where the text ends after j characters of piece k; j = 0 is
    # before the piece, where anything may stand.
    best = [[0] * max(len(piece), 1) for piece in [*pattern, ""]]
    for c in text:
        after = [[row[0]] + [-1] * (len(row) - 1) for row in best]
        for k, piece in enumerate(pattern):
            for j, own in enumerate(piece):
                if own == c and best[k][j] >= 0:
                    to, at = (k, j + 1) if j + 1 < len(piece) else (k + 1, 0)
                    after[to][at] = max(after[to][at], best[k][j] + 1)
        best = after
    return max(max(row) for row in best)


def pinned(texts, errors, sites):
    """The site whose words `texts` have, where they have enough and tell it from the others: the
    most words, and of two with as many the one that has fewer to say."""
    scores = []
    for site in sites:
        if not errors or not site.error or site.error in errors:
            own = sum(max(overlap(text, pattern) for pattern in site.patterns) for text in texts)
            scores.append((own, -site.own, site))
    scores.sort(key=lambda score: score[:2], reverse=True)
    if not scores or scores[0][0] < scores[0][2].enough:
        return None
    return None if scores[0][:2] in [score[:2] for score in scores[1:2]] else scores[0][2]


def pin(sites, expectations):
    """Notes at each site which expectations pin it: of a test's own room where one does."""
    sites = [site for site in sites if site.patterns]
    grams = {}  # 4 characters of a site's own words -> the sites, to compare with few
    for number, site in enumerate(sites):
        for piece in (piece for pattern in site.patterns for piece in pattern):
            for at in range(max(len(piece) - 3, 1)):
                grams.setdefault(piece[at:at + 4], set()).add(number)
    for expectation in expectations:
        texts, room = expectation.texts, expectation.place.split("/")[1]
        near = set().union(*(grams.get(text[at:at + 4], set())
                             for text in texts for at in range(max(len(text) - 3, 1))))
        near = [sites[number] for number in sorted(near)]
        own = [site for site in near if site.file.startswith(room + "/")]
        site = pinned(texts, expectation.errors, own) or pinned(texts, expectation.errors, near)
        if site:
            site.pins.append(expectation.place)


def excuses(path):
    """(line, file, first words, reason) for each line of the list of excused sites."""
    lines = path.read_text().splitlines() if path.exists() else []
    for number, line in enumerate(lines, 1):
        if line and not line.startswith("#"):
            yield number, *([part.strip() for part in line.split("|", 2)] + ["", ""])[:3]


def problems(root, sites):
    excused = set()
    for number, file, words, reason in excuses(root / EXCUSED):
        found = [s for s in sites if s.file == file and words and s.words.startswith(words)]
        if not reason:
            yield f"{EXCUSED}:{number}: gives no reason"
        elif not any(not site.pins for site in found):
            yield f"{EXCUSED}:{number}: excuses no site that needs it"
        excused.update(id(site) for site in found)
    for site in sites:
        if not site.pins and id(site) not in excused:
            yield f"include/loadax/{site.file}:{site.line}: no test pins \"{site.words}\""


def read(folder, *suffixes):
    return {path.relative_to(folder).as_posix(): path.read_text()
            for path in sorted(folder.rglob("*")) if path.suffix in suffixes}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).parents[2])
    parser.add_argument("--pins", action="store_true", help="print which test pins which site")
    options = parser.parse_args()
    headers = read(options.root / "include" / "loadax", ".hpp")
    errors = error_names(headers)
    sites = [site for file, text in headers.items() if file != "core/error.hpp"
             for site in sites_of(file, text, errors)]
    pin(sites, [expectation for file, text in read(options.root / "tests", ".cpp", ".hpp").items()
                for expectation in expectations_of(f"tests/{file}", text, errors)])
    if options.pins:
        for site in sites:
            print(f'{site.file}:{site.line}: "{site.words}"\n  ' + "\n  ".join(site.pins or ["-"]))
        return 0
    found = list(problems(options.root, sites))
    print("\n".join(found) if found else f"exceptions: a test pins each of {len(sites)} sites")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
