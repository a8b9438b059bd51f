"""Files and functions stay small enough to be read at one sitting."""
import re

import tree

FILE_LINES = 500
FUNCTION_LINES = 60


def functions(path):
    """Name, first line and length of each function. In formatted code a function's braces are the
    only ones that stand alone in the first column."""
    lines = tree.text(path).splitlines()
    start = None
    for number, line in enumerate(lines):
        if line == "{":
            start = number
            while start > 0 and re.match(r"[\w ].*[^;}/]$", lines[start - 1]):
                start -= 1
        elif line == "}" and start is not None:
            head = re.search(r"(\w+)\(", " ".join(lines[start:start + 3]))
            yield head[1] if head else "?", start + 1, number - start + 1
            start = None


def test_no_file_is_longer_than_500_lines():
    lengths = {tree.name(path): len(tree.text(path).splitlines()) for path in tree.sources()}
    assert {file: n for file, n in lengths.items() if n > FILE_LINES} == {}


def test_no_function_is_longer_than_60_lines():
    assert [f"{tree.name(path)}:{line}: {function} has {length} lines"
            for path in tree.sources() for function, line, length in functions(path)
            if length > FUNCTION_LINES] == []


def test_the_length_of_a_function_is_measured_from_its_first_line(tmp_path):
    file = tmp_path / "x.c"
    file.write_text("int a;\n\nstatic int\nlong_name(int b,\n          int c)\n{\n    return 1;\n}\n")
    assert list(functions(file)) == [("long_name", 3, 6)]
