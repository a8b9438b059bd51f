"""Reads the source tree for the style tests."""
import functools
import re
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
PRODUCT = ("server", "chaos", "client")

TOKEN = re.compile(
    r"""(?P<comment>/\*.*?\*/)|(?P<line>//[^\n]*)|(?P<string>"(?:\\.|[^"\\\n])*")|(?P<char>'(?:\\.|[^'\\\n])*')""",
    re.S,
)


def name(path):
    return str(path.relative_to(TOP))


def sources(*folders):
    """All C files and headers below these folders, in order."""
    return sorted(path for folder in folders or (*PRODUCT, "tests")
                  for path in (TOP / folder).rglob("*.[ch]"))


@functools.cache
def text(path):
    return path.read_text(encoding="utf-8")


@functools.cache
def code(path):
    """A file without comments and with empty strings, line numbers kept."""
    def blank(match):
        kept = "\n" * match[0].count("\n")
        return '""' if match["string"] and not kept else "' '" if match["char"] else kept
    return TOKEN.sub(blank, text(path))


def strings(path):
    """The string literals of a file, each with its line number."""
    whole = text(path)
    return [(whole.count("\n", 0, match.start()) + 1, match["string"])
            for match in TOKEN.finditer(whole) if match["string"]]


def line_comments(path):
    whole = text(path)
    return [whole.count("\n", 0, match.start()) + 1
            for match in TOKEN.finditer(whole) if match["line"]]


def find(paths, pattern, reader=code):
    """Where a pattern occurs, as "file:line: text"."""
    return [f"{name(path)}:{number}: {line.strip()}"
            for path in paths
            for number, line in enumerate(reader(path).splitlines(), 1)
            if re.search(pattern, line)]
