"""What `cmake --install` puts where, and that it is enough to work with."""
import os
import re
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


def test_the_readme_is_installed(prefix):
    assert (prefix / "share/doc/quern/README.md").is_file()


def test_a_program_can_be_linked_with_the_installed_client(prefix, tmp_path):
    if not (TOP / "client/quern.h").exists():
        assert not list(prefix.rglob("*.pc")), "a pkg-config file without the header it speaks of"
        return
    config = next(prefix.rglob("quern.pc"))
    env = {**os.environ, "PKG_CONFIG_PATH": str(config.parent)}
    flags = run("pkg-config", f"--define-variable=prefix={prefix}", "--cflags", "--libs", "quern", env=env)
    assert flags.returncode == 0, flags.stderr
    source = tmp_path / "user.c"
    source.write_text("#include <quern.h>\nint main(void)\n{\n    return 0;\n}\n")
    done = run("gcc", source, "-o", tmp_path / "user", *flags.stdout.split())
    assert done.returncode == 0, done.stderr
