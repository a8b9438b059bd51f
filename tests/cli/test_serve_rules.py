"""Fault rules on the command line of `quern serve`."""
import pathlib

import pytest

from commands import run

PROFILES = pathlib.Path(__file__).resolve().parents[2] / "chaos" / "profiles"

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


def test_very_many_mistakes_are_all_listed(tmp_path):
    file = tmp_path / "wrong.rules"
    file.write_text("nonsense\n" * 50)
    lines = refused_lines("--chaos", str(file))
    assert len(lines) == 50 and lines[-1].startswith("%s:50:1: " % file)


# ---- profiles ----


@pytest.fixture
def rules(start, tmp_path):
    """The rules of a server that can be killed and has a store."""

    def listed(*words):
        server = start("--supervise", "--db", str(tmp_path / "q.db"), *words)
        return server.control("GET", "/_quern/rules")[1]["rules"]

    return listed


@pytest.mark.parametrize("file", sorted(PROFILES.glob("*.rules")), ids=lambda file: file.stem)
def test_profile_by_its_name_is_the_file(rules, monkeypatch, tmp_path, file):
    monkeypatch.chdir(tmp_path)  # it is in the program, wherever that stands
    lines = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
    assert [rule["text"] for rule in rules("--chaos", file.stem)] == lines


def test_profiles_and_files_can_be_put_together(rules, tmp_path):
    (tmp_path / "my.rules").write_text("on any nth 9 do throttle as mine\n")
    names = [rule["name"] for rule in rules("--chaos", "slow", "--chaos", str(tmp_path / "my.rules"), "--chaos", "outage")]
    assert names[0] == "much-later" and names[-1] == "nobody-listens" and "mine" in names


def test_several_in_one_variable(tmp_path):
    (tmp_path / "my.rules").write_text("on any do hagn\n")
    answer = run("serve", "--port", "0", QUERN_CHAOS="slow; %s" % (tmp_path / "my.rules"))
    assert places(answer.stderr.splitlines()) == ["%s:1:11" % (tmp_path / "my.rules")]


def test_the_profile_wins_over_a_file_of_its_name(rules, monkeypatch, tmp_path):
    (tmp_path / "slow").write_text("on any nth 9 do throttle as mine\n")
    monkeypatch.chdir(tmp_path)
    assert "mine" not in [rule["name"] for rule in rules("--chaos", "slow")]
    assert places(refused_lines("--chaos", "./slow", "--fault", "on any do throttle as mine")) == ["--fault:1:23"]


@pytest.mark.parametrize("word, nearest", [("flakey-network", "flaky-network"), ("throttle", "throttled"), ("outtage", "outage")])
def test_nearest_profile_and_all_of_them_are_named(word, nearest):
    (line,) = refused_lines("--chaos", word)
    assert "--chaos %s: there is no such file and no such profile; did you mean %s?" % (word, nearest) in line
    assert all(file.stem in line for file in PROFILES.glob("*.rules"))


def test_a_word_that_is_near_to_none_names_all():
    (line,) = refused_lines("--chaos", "xyzzy")
    assert "did you mean" not in line and "; the profiles are at-least-once, " in line


def test_profile_that_the_server_cannot_carry_out_says_where():
    lines = refused_lines("--chaos", "crashy")
    assert places(lines) == ["crashy:15:32"] and "--db" in lines[0]


def test_queues_that_are_not_there_are_told_at_the_start(start):
    """A slip in a queue's name would make a rule that never fires, and nobody would know."""
    server = start("--queue", "orders", "--fault", 'on any where queue in (orders, ordrs) or queue ~ "o*" nth 9 do hang as a',
                   "--fault", "on any nth 9 do create-queue x as b", "--fault", "on any where queue = orders nth 9 do hang as c")
    told = [line for line in server.log().splitlines() if "not there" in line]
    assert told == ["info chaos: a rule names a queue that is not there (yet) rule=a queue=ordrs"]


def test_actions_that_need_a_harness_are_told_at_the_start(start):
    """Whoever kills their consumer by a rule of `quern serve` waits for nothing."""
    server = start("--fault", "on SendMessage nth 9 do mark x then kill instance then spawn 2 as a",
                   "--fault", "on SendMessage nth 9 do hold then after 1s purge as b")
    told = [line.split("trace ")[1] for line in server.log().splitlines() if line.startswith("warn chaos: ")]
    assert told == ["rule=a do=kill instance", "rule=a do=spawn 2"]
    assert [rule["told"] for rule in server.control("GET", "/_quern/rules")[1]["rules"]] == [["kill instance", "spawn 2"], []]
