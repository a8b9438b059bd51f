"""Each row of `quern bench` can be measured and says so in sane JSON. Figures are not judged here:
they are not even real, since --quick makes everything tiny."""
import json
import re
import signal
import subprocess
import time
import xml.etree.ElementTree

import pytest

import other_sqs
from commands import refused, run
from exchange import process

LISTED = [line.split()[0] for line in run("bench", "--list").stdout.splitlines()]
ONCE = {"instructions"}  # measured by test_instructions.py
SVG = "{http://www.w3.org/2000/svg}"


def measure(tmp_path, *words, **how):
    file = tmp_path / "bench.json"
    answer = run("bench", "--directory", str(tmp_path), "--json", str(file), *words, timeout_s=300, **how)
    assert (answer.returncode, answer.stderr) == (0, ""), answer
    return answer.stdout, json.loads(file.read_text())


def wait_for(condition, otherwise):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.02)


def test_the_rows_are_those_of_the_table():
    assert LISTED == ["send", "drain", "normal", "full", "saturated", "backlog", "in-flight", "fifo", "polls",
                      "polls-10000", "purge", "expiry", "json", "start", "reload", "instructions", "curves"]


@pytest.mark.parametrize("name", [name for name in LISTED if name not in ONCE | {"curves"}])
def test_row_is_measured(tmp_path, name):
    text, document = measure(tmp_path, "--quick", name)
    (row,) = document["rows"]
    assert row["name"] == name and "not_measured" not in row and "curves" not in document
    assert "\n%s: " % name in text and "not measured" not in text
    for figure in row["figures"]:
        assert figure["value"] >= 0 and len(figure["rounds"]) >= 1, figure
        assert figure["unit"] in ("x", "us", "ms", "s", "MB", "%", "/s", ""), figure
        bar = figure.get("at_most", figure.get("at_least"))
        assert (bar is not None) == ("met" in figure), figure
        if "at_most" in figure:
            assert figure["met"] == (figure["value"] <= bar)
        elif "at_least" in figure:
            assert figure["met"] == (figure["value"] >= bar)
    assert any("met" in figure for figure in row["figures"])
    assert [path.name for path in tmp_path.iterdir()] == ["bench.json"], "databases are left behind"


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_broken_off_leaves_no_databases(tmp_path, how):
    with subprocess.Popen([process.program(), "bench", "--directory", str(tmp_path), "normal"],
                          stdout=subprocess.DEVNULL) as bench:
        wait_for(lambda: list(tmp_path.glob("*/*-ring")), "no database is made")
        bench.send_signal(how)
        assert bench.wait(20) == -how
    wait_for(lambda: not list(tmp_path.iterdir()), "something is left")


def test_every_figure_of_a_row_is_there(tmp_path):
    (row,) = measure(tmp_path, "--quick", "purge")[1]["rows"]
    assert [figure["name"] for figure in row["figures"]] == [
        "%s_%s%s" % (action, store, end) for action in ("purge", "delete") for store in ("memory", "normal")
        for end in ("", "_p99")]


def test_rounds_and_seconds_are_taken(tmp_path):
    (row,) = measure(tmp_path, "--rounds", "3", "--seconds", "0.05", "send")[1]["rows"]
    assert {len(figure["rounds"]) for figure in row["figures"]} == {3}


def test_curves_are_printed_and_drawn(tmp_path):
    svg = tmp_path / "curves.svg"
    text, document = measure(tmp_path, "--quick", "curves", "--curves", str(svg))
    assert document["rows"] == []
    assert [curve["name"] for curve in document["curves"]] == ["messages", "queues", "connections", "body_bytes"]
    for curve in document["curves"]:
        assert len(curve["x"]) == len(curve["send"]) == len(curve["drain"]) >= 2
        assert all(point["cpu_us"] > 0 and point["units_per_s"] > 0 and point["p50_us"] > 0
                   for point in curve["send"] + curve["drain"])
        assert "curves: by" in text
    drawing = xml.etree.ElementTree.parse(svg).getroot()
    lines = drawing.findall(SVG + "polyline")
    assert [len(line.get("points").split()) for line in lines] == [
        len(curve["x"]) for curve in document["curves"] for _ in range(2)]
    width, height = map(float, drawing.get("viewBox").split()[2:])
    for line in lines:
        for point in line.get("points").split():
            x, y = map(float, point.split(","))
            assert 0 <= x <= width and 0 <= y <= height


def test_the_table_is_put_into_a_markdown_file(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- begin bench: x -->\nold\n<!-- end bench -->\nbehind\n")
    measure(tmp_path, "--quick", "json", "--table", str(page))
    lines = page.read_text().splitlines()
    assert lines[:2] == ["before", "<!-- begin bench: x -->"] and lines[-2:] == ["<!-- end bench -->", "behind"]
    assert lines[2] == "| row | figure | measured | bar | aim |" and "old" not in lines
    assert re.match(r"\| json \| plain text \| [\d.]+ us( \(missed\))? \| <= 0.30 us \|  \|$", lines[4]), lines[4]


def test_a_markdown_file_without_a_place_for_it_is_left_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("nothing\n")
    assert "begin bench" in refused("bench", "--table", str(page)) and page.read_text() == "nothing\n"


@pytest.mark.parametrize("option", ["--json", "--table", "--curves"])
def test_a_file_that_cannot_be_written_is_said_before_anything_is_measured(tmp_path, option):
    """It was said after all rows, and the figures were lost."""
    for path in (tmp_path / "none" / "file", tmp_path):
        assert str(path) in refused("bench", option, str(path))


def test_a_run_that_is_refused_leaves_no_file(tmp_path):
    refused("bench", "--json", str(tmp_path / "new.json"), "--curves", "/nonexistent/curves.svg")
    assert list(tmp_path.iterdir()) == []


def test_any_sqs_can_be_measured(tmp_path):
    server = other_sqs.serve()
    try:
        text, document = measure(tmp_path, "--quick", "--endpoint", "http://localhost:%d/" % server.server_port)
    finally:
        server.shutdown()
        server.server_close()
    figures = {(row["name"], figure["name"]): figure["value"] for row in document["rows"] for figure in row["figures"]}
    assert {row["name"] for row in document["rows"]} == {"send", "drain"}
    assert figures["send", "per_s_64"] > 0 and figures["drain", "per_s_64"] > 0
    assert ("send", "cpu_64") not in figures, "its CPU time cannot be seen"


def test_an_endpoint_where_nobody_is_cannot_be_measured():
    answer = run("bench", "--quick", "send", "--endpoint", "http://127.0.0.1:9")
    assert answer.returncode == 4 and "not measured: " in answer.stdout


def test_a_server_that_is_none_cannot_be_measured():
    answer = run("bench", "--quick", "start", "--server", "/bin/true")
    assert answer.returncode == 4 and "not measured: /bin/true does not start" in answer.stdout


@pytest.mark.parametrize("words, instead", [
    (["sned"], "did you mean send?"),
    (["nonsense-row"], "quern bench --list names them"),
    (["--round", "1"], "did you mean --rounds?"),
    (["--rounds", "0"], "from 1 to 101"),
    (["--rounds"], "--rounds needs a value: N"),
    (["--seconds", "x"], "--seconds takes a number from 0.05 to 600, not x"),
    (["--seconds", "0"], "--seconds takes a number from 0.05 to 600"),
    (["--endpoint", "localhost:1"], "http://HOST:PORT, such as http://127.0.0.1:9324"),
    (["--endpoint", "http://h:1/queue"], "http://HOST:PORT"),
    (["--endpoint", "http://h:99999"], "http://HOST:PORT"),
    (["fifo", "--endpoint", "http://h:1"], "only send and drain can be measured, not fifo"),
    (["--endpoint", "http://h:1", "--server", "/bin/true"], "leave out --server"),
    (["--pid", "1"], "give --endpoint too"),
    (["--server", "/nonexistent"], "--server takes a program that can be run, not /nonexistent"),
    (["--directory", "/nonexistent"], "--directory takes a folder that can be written, not /nonexistent"),
    (["--echo", "0"], "from 1 to 65535"),
], ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_mistake_says_what_to_write_instead(words, instead):
    assert instead in refused("bench", *words)
