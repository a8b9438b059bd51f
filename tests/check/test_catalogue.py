"""`quern scenarios`, `quern explain`, and scenarios of one's own in `quern check`."""
import json
import pathlib
import re
import sys

import pytest
from commands import refused, run

CHECK = pathlib.Path(__file__).resolve().parents[2] / "chaos/check"
SCENARIOS, EXPLAIN = CHECK / "scenarios", CHECK / "explain"
IDLE = [sys.executable, "-c", "import time; time.sleep(60)"]
QUICK = ["--startup-timeout", "300ms", "--grace", "100ms", "--seed", "7", "--", *IDLE]


def table(*words):
    answer = run("scenarios", *words)
    assert (answer.returncode, answer.stderr) == (0, "")
    return answer.stdout.splitlines()


def test_scenarios_are_listed_with_what_they_are_about():
    head, first, *others = table()
    assert head.split() == ["ID", "TIER", "SEVERITY", "PROFILES", "NEEDS", "TITLE"]
    assert first.split()[:5] == ["base.drain-and-profile", "1", "must", "standard,fifo", "-"]
    assert any(line.startswith("std.delete-lost ") for line in others)


def test_the_list_can_be_cut_by_tier_and_profile():
    assert all(line.split()[1] == "1" for line in table("--tier", "1")[1:])
    assert all("fifo" in line.split()[3] for line in table("--profile", "fifo")[1:])
    names = [line.split()[0] for line in table("--profile=standard")[1:]]
    assert "std.delete-lost" in names and "fifo.order" not in names


def test_the_list_as_json_says_why_and_what_to_do():
    listed = json.loads(run("scenarios", "--json").stdout)["scenarios"]
    row = {one["id"]: one for one in listed}["std.delete-lost"]
    assert set(row) == {"id", "tier", "severity", "profiles", "needs", "title", "why", "fix"}
    assert row["needs"] == ["sink", "cmd"] and row["why"] and row["fix"]


def test_a_scenario_is_shown_as_its_file():
    shown = json.loads(run("scenarios", "show", "std.delete-lost").stdout)
    assert shown["id"] == "std.delete-lost" and shown["load"] and shown["must"]


@pytest.mark.parametrize("words, said", [
    (["scenarios", "show", "std.delete-lots"], "did you mean std.delete-lost?"),
    (["scenarios", "show", "nothing like it"], "quern scenarios lists them"),
    (["scenarios", "show"], "usage: quern scenarios"),
    (["scenarios", "dance"], "usage: quern scenarios"),
    (["scenarios", "--profile", "lifo"], "--profile is standard, fifo or lambda"),
    (["scenarios", "--tier", "0"], "tier"),
    (["explain", "ONEC"], "did you mean ONCE?"),
    (["explain", "delete-lost"], "did you mean std.delete-lost?"),
    (["explain", "nothing like it"], "quern explain lists them"),
    (["explain", "ONCE", "TWICE"], "usage: quern explain"),
])
def test_a_slip_is_answered_with_what_was_meant(words, said):
    answer = run(*words)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert said in answer.stderr


def test_a_page_is_printed_and_all_are_listed():
    page = run("explain", "once").stdout
    assert page.startswith("# ONCE: ") and "https://docs.aws.amazon.com/" in page
    listed = run("explain").stdout.splitlines()
    assert any(line.startswith("ONCE  ") and line.endswith("each effect is applied once") for line in listed)
    assert any(line.startswith("std.delete-lost  ") for line in listed)


@pytest.mark.parametrize("name", ["INCONCLUSIVE", "SKIP", "observed-semantics"])
def test_what_a_run_may_say_instead_of_a_verdict_has_a_page(name):
    assert run("explain", name).stdout.startswith("# %s: " % name)


def test_a_scenario_of_ones_own_is_run(tmp_path):
    file = tmp_path / "mine.json"
    file.write_text(json.dumps({"id": "mine.first", "title": "mine", "profiles": ["standard"],
                                "load": ["ok count=2"], "must": ["ONCE"]}))
    assert any(line.split()[0] == "mine.first" for line in table("--scenario", str(file))[1:])
    answer = run("check", "--scenario", str(file), "--only", "mine.*", *QUICK)
    assert answer.returncode == 3, answer.stdout + answer.stderr
    assert "INCO  mine.first" in answer.stdout
    assert "--scenario %s" % file in answer.stdout  # in the command that runs it again


def test_all_mistakes_of_all_files_are_told_before_anything_runs(tmp_path):
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    first.write_text('{"id": "mine.first", "lod": ["ok"], "must": ["ONCE", "leases(k-000) = 2"]}')
    second.write_text("{\n")
    answer = run("check", "--scenario", str(first), "--scenario", str(second), *QUICK)
    assert (answer.returncode, answer.stdout) == (2, "")
    lines = answer.stderr.splitlines()
    assert len(lines) == 4, lines
    for wanted in ("first.json: line 1: lod: there is no such member; did you mean load?", "first.json: no load",
                   "first.json: line 1: must[1]: column", "second.json: line 2"):
        assert any(wanted in line for line in lines), (wanted, lines)


@pytest.mark.parametrize("id", ["../../../tmp/x", "mine first", "mine/first", ".mine", "mine." + 100 * "x", "mine.*"])
def test_an_id_that_is_no_name_of_a_file_is_refused(tmp_path, id):
    file = tmp_path / "own.json"
    file.write_text(json.dumps({"id": id, "load": ["ok"], "must": ["ONCE"]}))
    assert "own.json: line 1: id: is FAMILY.NAME, of at most 100 letters, digits and . - _ +\n" in refused(
        "check", "--scenario", str(file), *QUICK)


def test_two_variants_of_one_name_are_refused(tmp_path):
    file = tmp_path / "own.json"
    file.write_text(json.dumps({"id": "mine.x", "load": ["ok"], "must": ["ONCE"],
                                "variants": [{"name": "a"}, {"name": "a"}]}))
    assert "id: there is another scenario mine.x+a\n" in refused("check", "--scenario", str(file), *QUICK)


@pytest.mark.parametrize("choice, said", [
    (["--tier", "3"], "--only, --skip and --tier leave out all of them (quern scenarios"),
    (["--only", "base.*", "--skip", "*"], "--only, --skip and --tier leave out all of them"),
    (["--only", "fifo.order"], "fifo.order is not for profile standard (--profile fifo)"),
    (["--only", "fifo.order", "--no-skip"], "fifo.order is not for profile standard"),
    (["--profile", "lambda", "--only", "std.*"], "is not for profile lambda (--profile standard)"),
])
def test_a_choice_that_leaves_nothing_to_run_is_refused(choice, said):
    assert "no scenario is left to run: " in refused("check", *choice, "--", "true")
    assert said in refused("check", *choice, "--", "true")


def test_a_run_in_which_all_was_skipped_is_no_success():
    answer = run("check", "--only", "payload.reference", "--", "true")
    assert (answer.returncode, answer.stderr) == (3, "")
    assert answer.stdout.endswith(" nothing was judged: each scenario was skipped\n")


def test_scenarios_of_another_profile_are_left_out_unless_they_are_named():
    config = ["--waive", "fifo.*=not now", "--waive", "lambda.*=not now", "--waive", "base.*=not now"]
    shown = run("check", "--profile", "lambda", "--tier", "1", *config, "--", "true").stdout
    assert " SKIP  lambda." in shown and "std." not in shown and "profile lambda\n" not in shown
    shown = run("check", "--only", "base.ack-after-effect", "--only", "fifo.order", *config, "--", "true").stdout
    assert "SKIP  fifo.order" in shown and "profile standard\n" in shown


def named(scenario):
    """Invariants that a scenario gives names of its own, as in NAME: expression."""
    entries = [entry for of in [scenario, *scenario.get("variants", [])] for weight in ("must", "should", "info")
               for entry in of.get(weight, [])]
    return {found[1] for found in (re.match(r"([A-Z0-9-]+):", entry) for entry in entries) if found}


@pytest.mark.parametrize("file", sorted(SCENARIOS.glob("*.json")), ids=lambda file: file.stem)
def test_the_page_of_a_scenario_names_its_invariants_and_no_others(file):
    own = named(json.loads(file.read_text()))
    page = (EXPLAIN / (file.stem + ".md")).read_text()
    told = set(re.findall(r"\b[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)*\b", page))
    assert own <= told
    general = {page.stem for page in EXPLAIN.glob("*.md") if page.stem.isupper()} | {"UTF-8", "SHA-256"}
    assert {name for name in told if "-" in name} <= own | general
