"""What `cmake --install` puts where, and that it is enough to work with."""
import os
import re
import socket
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]


def run(*argv, **options):
    return subprocess.run([str(word) for word in argv], capture_output=True, text=True, timeout=120,
                          check=False, **options)


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prefix")
    done = run("cmake", "--install", TOP / "build/release", "--prefix", folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_installed_program_runs_outside_the_tree(prefix, tmp_path):
    version = re.search(r"^project\(quern VERSION (\S+)", (TOP / "CMakeLists.txt").read_text(), re.M)[1]
    done = run(prefix / "bin/quern", "version", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert version in done.stdout


def links_in(document):
    """Where its relative links lead."""
    text = re.sub(r"```.*?```", "", document.read_text(), flags=re.S)
    found = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|href)="([^"]+)"', text)
    return [document.parent / link.split("#")[0] for link in found if "://" not in link and not link.startswith("#")]


def test_each_link_in_the_installed_documents_leads_to_something_that_is_installed(prefix):
    folder = prefix / "share/doc/quern"
    documents = sorted(folder.rglob("*.md"))
    assert {"README.md", "client/README.md", "client/runbook.md", "client/checklists.md", "client/permissions.md", "chaos/check/declarations.md", "docker/README.md"} <= \
        {str(document.relative_to(folder)) for document in documents}
    links = [(document, link) for document in documents for link in links_in(document)]
    assert len(links) > 50
    assert [f"{document.relative_to(folder)}: {link}" for document, link in links if not link.exists()] == []


@pytest.fixture(scope="module")
def flags(prefix):
    """What pkg-config says of the installed library, by its word for the kind of linking."""
    config = next(prefix.rglob("quern.pc"))
    environment = {**os.environ, "PKG_CONFIG_PATH": str(config.parent)}

    def ask(*words):
        told = run("pkg-config", f"--define-variable=prefix={prefix}", *words, "quern", env=environment)
        assert told.returncode == 0, told.stderr
        return told.stdout.split()

    return ask


def compile_example(flags, program):
    return run("gcc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
               TOP / "client/examples/send_and_receive.c", "-o", program, *flags)


def exchange_over(program, **environment):
    """Sends and receives on a server of its own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    place = f"http://127.0.0.1:{port}"
    with subprocess.Popen([TOP / "build/release/quern", "serve", "--port", str(port), "--queue", "q", "--log",
                           "error"]) as server:
        try:
            ready = run(TOP / "build/release/quern", "health", "--wait", "30", "--endpoint", place)
            assert ready.returncode == 0, ready.stderr
            return run(program, f"{place}/000000000000/q", env={**os.environ, "AWS_ENDPOINT_URL": place, **environment})
        finally:
            server.terminate()


@pytest.fixture(scope="module")
def library(prefix):
    return next(prefix.rglob("libquern.so"))


def test_the_example_works_with_the_shared_library(flags, library, tmp_path):
    done = compile_example(flags("--cflags", "--libs"), tmp_path / "example")
    assert done.returncode == 0, done.stderr
    needed = run("objdump", "-p", tmp_path / "example").stdout
    assert re.search(r"NEEDED +libquern\.so\.\d+$", needed, re.M)
    done = exchange_over(tmp_path / "example", LD_LIBRARY_PATH=str(library.parent))
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r'sent \S+\nreceived \S+, time 1: {"hello": "world"}\n', done.stdout)


def test_the_example_works_with_the_archive(flags, library, tmp_path):
    # Of what libcurl's own archive would need nothing is wanted: that one is linked as usual.
    kept = [word for word in flags("--cflags") if word.startswith("-I")] + [library.with_suffix(".a")]
    done = compile_example([*kept, "-lcurl-gnutls", "-ljansson", "-lnettle", "-luuid", "-lpthread", "-lm"],
                           tmp_path / "example")
    assert done.returncode == 0, done.stderr
    assert "libquern" not in run("objdump", "-p", tmp_path / "example").stdout
    done = exchange_over(tmp_path / "example")
    assert done.returncode == 0, done.stderr


def test_the_examples_build_from_what_is_installed(flags, tmp_path):
    folder = TOP / "client/examples"
    sources = [path for path in sorted(folder.glob("*.c")) if path.name not in ("example.c", "send_and_receive.c")]
    assert sources
    for source in sources:
        done = run("gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", source, folder / "example.c", "-o",
                   tmp_path / source.stem, *flags("--cflags", "--libs"), "-lsqlite3", "-lcurl-gnutls", "-lnettle", "-lpthread")
        assert done.returncode == 0, done.stderr


def declared(headers):
    texts = [re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S) for header in headers]
    return {name for text in texts for name in re.findall(r"\b(quern_\w+)\(", text)}


def all_headers(prefix):
    return sorted((prefix / "include").glob("quern*.h"))


def test_the_shared_library_exports_what_its_headers_declare_and_nothing_else(prefix, library):
    listing = run("objdump", "-T", library).stdout
    symbols = re.findall(r"^\S+ g\s.*\s(\S+)\s+(\w\S*)$", listing, re.M)
    names = {name for _, name in symbols}
    assert names - {"QUERN_1.0"} == declared(all_headers(prefix))
    assert {version for version, name in symbols if name.startswith("quern_")} == {"QUERN_1.0"}


def test_the_headers_can_be_included_alone_and_from_cplusplus(prefix, tmp_path):
    for header in all_headers(prefix):
        for compiler, language in (("gcc", "c"), ("clang-14", "c++")):
            source = tmp_path / f"user.{language}"
            source.write_text(f"#include <{header.name}>\n")
            done = run(compiler, "-x", language, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I", prefix / "include",
                       source)
            assert done.returncode == 0, f"{header.name}, {compiler}: {done.stderr}"


def of_the_client(prefix):
    client = prefix / "include/quern.h"
    return [client, *(client.with_name(name) for name in re.findall(r'#include "(\w+\.h)"', client.read_text()))]


def of_the_runtime(prefix):
    return [header for header in all_headers(prefix) if header not in of_the_client(prefix)]


@pytest.mark.parametrize("name, headers", [("quern.3", of_the_client), ("quern_consumer.3", of_the_runtime)])
def test_a_man_page_names_all_functions_of_its_headers_and_no_others(prefix, name, headers):
    page = (prefix / "share/man/man3" / name).read_text()
    named = set(re.findall(r"(?<!struct )\bquern_\w+\b(?!\.h)", page))
    assert named - {"quern_consumer"} == declared(headers(prefix))  # which is the page itself


def test_the_man_page_of_the_program_has_the_commands_of_its_help(prefix):
    page = (prefix / "share/man/man1/quern.1").read_text().split(".SH COMMANDS")[1].split(".SH ")[0]
    listed = re.findall(r"^  (\w+) ", run(prefix / "bin/quern", "--help").stdout, re.M)
    assert sorted(re.findall(r"^\.B (\w+)$", page, re.M)) == sorted(listed)


OF_THEIR_OWN = ["serve", "check", "consume", "lambda"]


@pytest.mark.parametrize("command", OF_THEIR_OWN)
def test_the_man_page_of_a_command_has_each_option_of_its_help_with_its_meaning(prefix, command):
    page = (prefix / f"share/man/man1/quern-{command}.1").read_text()
    names = re.findall(r"^\.SH (.+)$", page, re.M)
    assert names == ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO"]
    options = page.split(".SH OPTIONS\n")[1].split(".SH ")[0].replace("\\-", "-").replace("\\&", "").replace("\\e", "\\")
    help_text = run(prefix / "bin/quern", command, "--help", "all", env={**os.environ, "COLUMNS": "10000"}).stdout
    listed = re.findall(r"^  (--?\S+)(?: (\S+))?(?:\n|  )\s*(\S.*)$", help_text, re.M)
    assert len(listed) > 10
    for option, value, meaning in listed:
        head = f'.BI "{option} " "{value}"' if value else f".B {option}"
        assert f".TP\n{head}\n{meaning}\n" in options, option
    assert len(re.findall(r"^\.BI? ", options, re.M)) <= len(listed) + 2  # --help, and what it says of itself


def test_the_man_page_of_the_program_has_the_options_of_each_command_that_has_no_own(prefix):
    page = (prefix / "share/man/man1/quern.1").read_text().replace("\\-", "-").replace("\\e", "\\")
    options = page.split(".SH OPTIONS\n")[1].split(".SH ")[0]
    parts = {part.split()[1].strip('"'): part for part in re.split(r'^\.SS "', options, flags=re.M)[1:]}
    listed = re.findall(r"^  (\w+) ", run(prefix / "bin/quern", "--help").stdout, re.M)
    of_all = {'.BI "--endpoint " "URL"', '.BI "--region " "REGION"', ".B --json"}
    assert set(listed) - set(parts) == {*OF_THEIR_OWN, "chaos", "explain", "completion", "version"}
    for command, part in parts.items():
        help_text = run(prefix / "bin/quern", command, "--help", "all", env={**os.environ, "COLUMNS": "10000"}).stdout
        assert help_text.startswith("usage: " + part.split('"')[0] + "\n")
        for option, value, meaning in re.findall(r"^  (--?\S+)(?: (\S+))?(?:\n|  )\s*(\S.*)$", help_text, re.M):
            head = f'.BI "{option} " "{value}"' if value else f".B {option}"
            assert (f".TP\n{head}\n{meaning}\n" in part) == (head not in of_all), (command, option)


@pytest.mark.parametrize("page", ["man1/quern.1", *(f"man1/quern-{command}.1" for command in OF_THEIR_OWN),
                                  "man3/quern.3", "man3/quern_consumer.3"])
def test_a_man_page_is_set_without_a_warning(prefix, page):
    done = run("groff", "-ww", "-man", "-Tutf8", "-z", prefix / "share/man" / page)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell, place", [("bash", "bash-completion/completions/quern"), ("zsh", "zsh/site-functions/_quern")])
def test_the_completion_of_each_shell_is_installed(prefix, shell, place):
    assert (prefix / "share" / place).read_text() == run(prefix / "bin/quern", "completion", shell).stdout
