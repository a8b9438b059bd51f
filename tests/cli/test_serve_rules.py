"""Fault rules on the command line: of `quern serve`, and `quern chaos` against a running server."""
from commands import run

WRONG = """# twice wrong
on SendMesage do throttle as a
on any do throttle as b

on any where quee=q do hagn
on any do throttle as b
"""


def refused_lines(*words):
    answer = run("serve", "--port", "0", *words)
    assert (answer.returncode, answer.stdout) == (2, ""), answer
    return answer.stderr.splitlines()


def places(lines):
    return [line.split(": ")[0] for line in lines]


def test_wrong_file_is_refused_with_every_mistake_in_it(tmp_path):
    file = tmp_path / "wrong.rules"
    file.write_text(WRONG)
    lines = refused_lines("--chaos", str(file))
    assert places(lines) == ["%s:%s" % (file, place) for place in ("2:4", "5:14", "5:24", "6:23")]
    assert lines[0].endswith('did you mean "SendMessage"?')
    assert "already" in lines[3]


def test_file_and_options_are_all_looked_at(tmp_path):
    file = tmp_path / "wrong.rules"
    file.write_text("on any do hagn\n")
    assert places(refused_lines("--chaos", str(file), "--fault", "on any do hodl")) == ["%s:1:11" % file, "--fault:1:11"]
    assert places(refused_lines("--fault", "on any do hang", "--fault", "on any do hodl")) == ["--fault 2:1:11"]


def test_very_many_mistakes_are_counted(tmp_path):
    file = tmp_path / "wrong.rules"
    file.write_text("nonsense\n" * 50)
    lines = refused_lines("--chaos", str(file))
    assert len(lines) == 21 and lines[-1] == "%s: and 30 more" % file
