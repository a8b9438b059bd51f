"""What our C does not do, or does in one place only."""
import re

import pytest
import tree

# What a user of the library writes has SQL and memory of its own.
OURS = [path for path in tree.sources(*tree.PRODUCT) if not tree.name(path).startswith("client/examples/")]
C_TESTS = [path for path in tree.sources("tests") if path.suffix == ".c"]
SQL = (r"\bSELECT\s.+\bFROM\b|\bINSERT\s+(OR\s+\w+\s+)?INTO\b|\bUPDATE\s+\w+\s+SET\b|\bDELETE\s+FROM\b|"
       r"\bCREATE\s+(TABLE|INDEX)\b|\bPRAGMA\s|\bBEGIN\s+(IMMEDIATE|EXCLUSIVE)\b|^\"(BEGIN|COMMIT|ROLLBACK)\"$")


def test_the_four_chaos_points_are_called_in_the_loop_and_nowhere_else():
    calls = tree.find(tree.sources("server", "client", "chaos/check"), r"\bqn_chaos_at\s*\(")
    assert [call for call in calls if not call.startswith("server/http/loop.c:")] == []
    assert len(calls) == 4


def test_nothing_sleeps_in_a_c_test():
    assert tree.find(C_TESTS, r"\b(sleep|usleep|nanosleep|clock_nanosleep|thrd_sleep)\s*\(") == []


def test_sql_stands_in_sql_def_only():
    assert [f"{tree.name(path)}:{line}: {text}" for path in OURS
            for line, text in tree.strings(path) if re.search(SQL, text)] == []


def test_memory_comes_from_base_only():
    files = [path for path in OURS if not tree.name(path).startswith("server/base/")]
    pattern = (r"(?<![\w.>])(malloc|calloc|realloc|reallocarray|aligned_alloc|free|strdup|strndup|"
               r"asprintf|vasprintf)\s*\(")
    assert tree.find(files, pattern) == []


@pytest.mark.parametrize("function", ["strcpy", "strcat", "sprintf", "strtok", "atoi", "atol", "gets",
                                      "vsprintf", "strncpy", "strncat", "alloca"])
def test_unsafe_function_is_not_called(function):
    assert tree.find(tree.sources(), rf"(?<![\w.>]){function}\s*\(") == []


def test_structs_and_enums_have_no_typedefs():
    assert tree.find(tree.sources(), r"\btypedef\s+(struct|enum|union)\b") == []


def test_comments_are_block_comments():
    assert [f"{tree.name(path)}:{line}" for path in tree.sources()
            for line in tree.line_comments(path)] == []


def test_external_functions_of_the_product_are_named_after_it():
    headers = [path for path in tree.sources(*tree.PRODUCT) if path.suffix == ".h"]
    declared = re.compile(r"^(?!typedef|static|#|\s|/|\*|}|extern \"C\")[A-Za-z_][\w \*]*?\b(\w+)\(", re.M)
    assert [f"{tree.name(path)}: {function}" for path in headers
            for function in declared.findall(tree.code(path))
            if not re.match(r"qn_|QN_|quern_|QUERN_|__attribute__", function)] == []


def test_nothing_is_left_unfinished():
    words = r"\b(TO" + r"DO|FIX" + r"ME|XXX|HA" + r"CK)\b|not (yet )?implemented"
    assert tree.find(tree.sources(), words, tree.text) == []
