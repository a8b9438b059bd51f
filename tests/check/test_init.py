"""`quern check init`: what it writes, that it works, and that it touches nothing."""
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading

import pytest
from commands import environment, refused, run
from exchange import process

HERE = pathlib.Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "chaos/check/declarations.md"
README = HERE.parents[1] / "README.md"
# Language: what tells it, and the adapter.
MARKS = {
    "node": ("package.json", "quern-adapter.mjs"),
    "python": ("pyproject.toml", "quern_adapter.py"),
    "go": ("go.mod", "quern_adapter.go"),
    "java": ("build.gradle", "QuernAdapter.java"),
    "ruby": ("Gemfile", "quern_adapter.rb"),
    "rust": ("Cargo.toml", "quern_adapter.rs"),
    "csharp": ("Orders.csproj", "QuernAdapter.cs"),
    "php": ("composer.json", "quern_adapter.php"),
    "shell": ("run.sh", "quern_adapter.sh"),
}
BODY = ('{"messageId":"01J","messageType":"quern.work","schemaVersion":1,"idempotencyKey":"k-003",'
        '"payload":{"id":"m-003","entity":"e-1"},"instr":{"work_ms":0,"outcome":["ok"]}}')
# How a program around the adapter is made, and started: it works on one body, its input.
PROGRAMS = {
    "go": (["go", "mod", "init", "call"], ["go", "build", "-o", "call", "."], ["./call"]),
    "java": (["javac", "-Xlint:all", "-Werror", "QuernAdapter.java", "Call.java"], ["java", "-cp", ".", "Call"]),
    "node": (["node", "call.mjs"],),
    "php": (["php", "call.php"],),
    "python": ([sys.executable, "call.py"],),
    "ruby": (["ruby", "-wc", "quern_adapter.rb"], ["ruby", "call.rb"]),
    "rust": (["rustc", "--edition", "2021", "-Dwarnings", "-o", "call", "call.rs"], ["./call"]),
    "shell": (["sh", "call.sh"],),
}
COMMENTS = ("//", "#", "/*", " *", '"""')
# With QUERN_CLIENTS=all each compiler must be here, else those that are here are used.
HERE_OR_ALL = [language for language, commands in PROGRAMS.items()
               if shutil.which(commands[0][0]) or os.environ.get("QUERN_CLIENTS") == "all"]


@pytest.mark.parametrize("language", MARKS)
def test_the_language_is_found_and_its_adapter_written(tmp_path, language):
    mark, adapter = MARKS[language]
    (tmp_path / mark).touch()
    answer = run("check", "init", cwd=tmp_path)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert {file.name for file in tmp_path.iterdir()} == {mark, adapter, "quern.json"}
    assert re.search(r"^quern\.json +written: ", answer.stdout, re.M)
    assert re.search(r"^%s +written: " % re.escape(adapter), answer.stdout, re.M)
    assert "quern check --only base.drain-and-profile" in answer.stdout
    written = json.loads((tmp_path / "quern.json").read_text())
    assert all(isinstance(word, str) for word in written["command"])
    # What it says is what quern check takes, and only the program is missing.
    assert "cannot start" in run("check", "--only", "base.ack*", cwd=tmp_path, PATH="/nowhere").stderr


@pytest.mark.parametrize("said, language", [
    ("bash", "shell"), ("sh", "shell"), ("JavaScript", "node"), ("ts", "node"), ("golang", "go"), ("C#", "csharp"), ("py", "python"),
])
def test_a_language_has_the_names_that_people_give_it(tmp_path, said, language):
    assert run("check", "init", said, cwd=tmp_path).returncode == 0
    assert {file.name for file in tmp_path.iterdir()} == {MARKS[language][1], "quern.json"}


def test_the_only_script_is_the_consumer_and_of_several_nobody_knows(tmp_path):
    for name in ("do-work.sh", "deploy.sh"):
        (tmp_path / name).touch()
        (tmp_path / "quern.json").unlink(missing_ok=True)
        answer = run("check", "init", cwd=tmp_path)
        command = json.loads((tmp_path / "quern.json").read_text())["command"]
        if name == "do-work.sh":
            assert command == ["quern", "consume", "{queue_url}", "--wait-for-queue", "--", "sh", "do-work.sh"]
            assert "(now: do-work.sh)" in answer.stdout
        else:
            assert command[-1] == "worker.sh" and "(now: worker.sh, which is not there)" in answer.stdout
        assert '["sh", "%s"]' % command[-1] in answer.stdout  # of a script that receives by itself


def test_a_script_beside_a_program_that_is_still_to_be_built_is_not_the_consumer(tmp_path):
    (tmp_path / "go.mod").touch()
    (tmp_path / "release.py").touch()
    run("check", "init", cwd=tmp_path)
    assert (tmp_path / "quern_adapter.go").exists()
    assert json.loads((tmp_path / "quern.json").read_text())["command"] == ["./worker"]


def test_each_declaration_of_the_documentation_is_in_the_file_with_its_explanation(tmp_path):
    assert run("check", "init", "shell", cwd=tmp_path).returncode == 0
    written = json.loads((tmp_path / "quern.json").read_text())
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", DOCS.read_text(), re.M)
    told = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    named = {name for name in written if not name.startswith("//")}
    assert named <= told
    assert {"concurrency", "work_max", "poison", "retry_queue", "expect_exit", "waive", "env"} <= named
    assert all("// " + name in written for name in named)


def test_nothing_that_is_there_is_touched(tmp_path):
    (tmp_path / "worker.py").write_text("mine")
    (tmp_path / "quern.json").write_text("mine too")
    answer = run("check", "init", cwd=tmp_path)
    assert answer.returncode == 0
    assert re.search(r"^quern\.json +is there already, and stays as it is$", answer.stdout, re.M)
    assert (tmp_path / "quern.json").read_text() == "mine too"
    first = (tmp_path / "quern_adapter.py").read_text()
    (tmp_path / "quern_adapter.py").write_text("changed " + first)
    assert "stays as it is" in run("check", "init", cwd=tmp_path).stdout
    assert (tmp_path / "quern_adapter.py").read_text() == "changed " + first


def test_the_command_is_the_program_that_is_there(tmp_path):
    (tmp_path / "main.py").touch()
    assert run("check", "init", cwd=tmp_path).returncode == 0
    assert json.loads((tmp_path / "quern.json").read_text())["command"] == ["python3", "main.py"]


def test_main_of_package_json_is_the_program_if_it_is_there(tmp_path):
    (tmp_path / "package.json").write_text('{"name": "orders", "main": "src/orders.js"}')
    assert run("check", "init", cwd=tmp_path).returncode == 0
    assert json.loads((tmp_path / "quern.json").read_text())["command"] == ["node", "worker.mjs"]
    (tmp_path / "quern.json").unlink()
    (tmp_path / "src").mkdir()
    (tmp_path / "src/orders.js").touch()
    assert "(now: src/orders.js)" in run("check", "init", cwd=tmp_path).stdout
    assert json.loads((tmp_path / "quern.json").read_text())["command"] == ["node", "src/orders.js"]
    for broken in ("{", '{"main": 7}', ""):
        (tmp_path / "package.json").write_text(broken)
        assert run("check", "init", cwd=tmp_path).returncode == 0


def test_what_has_to_be_built_is_said_until_it_is_there(tmp_path):
    (tmp_path / "go.mod").touch()
    assert "build it with go build -o worker ., and run" in run("check", "init", cwd=tmp_path).stdout
    (tmp_path / "worker").touch()
    assert "build it" not in run("check", "init", cwd=tmp_path).stdout


def test_a_folder_of_sources_takes_the_adapter(tmp_path):
    (tmp_path / "pom.xml").touch()
    (tmp_path / "src/main/java").mkdir(parents=True)
    assert "src/main/java/QuernAdapter.java" in run("check", "init", cwd=tmp_path).stdout
    assert (tmp_path / "src/main/java/QuernAdapter.java").is_file()


def test_one_of_several_languages_is_taken_and_another_can_be_said(tmp_path):
    (tmp_path / "package.json").touch()
    (tmp_path / "tool.py").touch()
    assert "taken is node" in run("check", "init", cwd=tmp_path).stdout
    assert "quern_adapter.rb" in run("check", "init", "ruby", cwd=tmp_path).stdout


@pytest.mark.parametrize("program, beside, adapter", [("worker.sh", "seed.py", "quern_adapter.sh"),
                                                      ("worker.py", "run.sh", "quern_adapter.py"),
                                                      ("worker.py", "worker.sh", "quern_adapter.py")])
def test_of_several_languages_that_of_a_consumer_goes_before_that_of_a_script(tmp_path, program, beside, adapter):
    (tmp_path / program).touch()
    (tmp_path / beside).touch()
    said = run("check", "init", cwd=tmp_path).stdout
    assert "several languages are here" in said and adapter in said
    assert json.loads((tmp_path / "quern.json").read_text())["command"][-1] == program


def test_what_cannot_be_done_is_told_in_one_line(tmp_path):
    assert "no language was found here" in refused("check", "init", cwd=tmp_path)
    assert "did you mean python?" in refused("check", "init", "pyhton", cwd=tmp_path)
    assert "no adapter for cobol: say" in refused("check", "init", "cobol", cwd=tmp_path)
    (tmp_path / "nowhere").symlink_to(tmp_path / "not" / "there")
    (tmp_path / "quern.json").symlink_to(tmp_path / "not" / "there")
    assert run("check", "init", "ruby", cwd=tmp_path).returncode == 0  # a name that is taken


@pytest.mark.parametrize("language", MARKS)
def test_an_adapter_has_at_most_20_lines(tmp_path, language):
    assert run("check", "init", language, cwd=tmp_path).returncode == 0
    text = re.sub(r'"""(.|\n)*?"""', "", (tmp_path / MARKS[language][1]).read_text())
    lines = [line for line in text.splitlines() if line.strip() and not line.strip().startswith(COMMENTS)]
    assert 1 < len(lines) <= 20
    assert max(map(len, lines)) <= 110  # nor are they made long instead
    assert text.count("/v1/") == 1 and "/v1/handle" in text


def search_path():
    """With the program under test: consumers are started by it."""
    return "%s:%s" % (pathlib.Path(process.program()).resolve().parent, os.environ["PATH"])


def check(folder, *names, timeout_s=240):
    answer = run("check", "-j", "2", *(word for name in names for word in ("--only", name)), cwd=folder,
                 timeout_s=timeout_s, PATH=search_path())
    assert answer.returncode == 0, answer.stdout
    return answer.stdout


SCENARIOS = ("base.drain-and-profile", "base.ack-after-effect", "std.delete-lost", "std.crash-mid-work",
             "std.crash-after-effect-before-delete", "poison.unknown-schema", "poison.invalid-not-retried")


@pytest.mark.parametrize("language, worker, needed", [
    ("python", "worker.py", [sys.executable]), ("node", "worker.mjs", ["node"]), ("shell", "worker.sh", ["curl"]),
])
def test_a_consumer_around_the_adapter_passes(tmp_path, language, worker, needed):
    assert all(shutil.which(word) for word in needed), "needed: %s" % needed
    shutil.copy(HERE / "init" / worker, tmp_path)
    assert run("check", "init", language, cwd=tmp_path).returncode == 0
    assert check(tmp_path, *SCENARIOS).count(" PASS  ") == len(SCENARIOS)


def test_the_first_consumer_of_the_readme_passes_as_it_stands(tmp_path):
    (text,) = re.findall(r"^A first consumer.*?```python\n(.*?)```", README.read_text(), re.M | re.S)
    (tmp_path / "worker.py").write_text(text)
    assert run("check", "init", cwd=tmp_path).returncode == 0
    config = json.loads((tmp_path / "quern.json").read_text())
    config["command"][0] = sys.executable  # the one with a current boto3
    (tmp_path / "quern.json").write_text(json.dumps(config))
    names = ("base.drain-and-profile", "base.ack-after-effect", "std.crash-after-effect-before-delete")
    assert check(tmp_path, *names).count(" PASS  ") == len(names)


def program(folder, language):
    """The adapter and programs around it, built; the words that start the one that works on one body."""
    *builds, start = PROGRAMS[language]
    assert run("check", "init", language, cwd=folder).returncode == 0
    (call,) = (HERE / "init").glob("[cC]all" + pathlib.Path(MARKS[language][1]).suffix)
    shutil.copy(call, folder)
    for build in builds:
        done = subprocess.run(build, cwd=folder, env=environment(), capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stdout + done.stderr
    return start


@pytest.mark.skipif("java" not in HERE_OR_ALL, reason="no javac")
def test_a_java_consumer_around_the_adapter_passes(tmp_path):
    """By itself: a JVM for each message takes seconds on a busy machine."""
    shutil.copy(HERE / "init/Worker.java", tmp_path)
    program(tmp_path, "java")
    subprocess.run(["javac", "-Xlint:all", "-Werror", "-cp", ".", "Worker.java"], cwd=tmp_path, check=True, timeout=240)
    (tmp_path / "quern.json").write_text(json.dumps({"command": ["java", "-cp", ".", "Worker"]}))
    assert check(tmp_path, *SCENARIOS).count(" PASS  ") == len(SCENARIOS)


@pytest.mark.parametrize("language", sorted(set(HERE_OR_ALL) - {"java", "node", "python", "shell"}))
def test_a_program_around_the_adapter_passes_under_quern_consume(tmp_path, language):
    start = program(tmp_path, language)
    config = {"command": ["quern", "consume", "{queue_url}", "--", *start]}
    (tmp_path / "quern.json").write_text(json.dumps(config))
    names = ("base.drain-and-profile", "std.crash-after-effect-before-delete", "poison.invalid-not-retried")
    assert check(tmp_path, *names).count(" PASS  ") == len(names)


class Sink(http.server.BaseHTTPRequestHandler):
    """Answers with the status of its turn, and keeps what came."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.came.append((self.path, body))
        self.send_response(self.server.status)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def sink():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


@pytest.mark.parametrize("language", HERE_OR_ALL)
def test_an_adapter_does_what_the_sink_says(tmp_path, sink, language):
    start = program(tmp_path, language)
    env = environment(QUERN_SINK_URL="http://127.0.0.1:%d" % sink.server_address[1])

    def handle(body, status):
        sink.came, sink.status = [], status
        done = subprocess.run(start, cwd=tmp_path, env=env, input=body, capture_output=True, text=True, timeout=60)
        assert sink.came == [("/v1/handle", body)], done.stdout + done.stderr
        return done.returncode

    for body in (BODY, "no JSON", BODY.replace("e-1", "\u20ac \U0001f600 <&>\n")):
        assert handle(body, 200) == 0
    for status in (400, 422, 500, 501, 503):
        assert handle(BODY, status) == 75
