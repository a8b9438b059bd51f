"""Which shared libraries the program needs, and when."""
import os
import re
import shutil
import subprocess

PROGRAM = os.environ["QUERN_PROGRAM"]


def needed():
    listing = subprocess.run(["objdump", "-p", PROGRAM], capture_output=True, text=True, check=True)
    return re.findall(r"NEEDED\s+(\S+)", listing.stdout)


def test_a_server_starts_without_libcurl():
    assert "libmicrohttpd.so.12" in needed()
    assert not [name for name in needed() if "curl" in name]


def test_a_client_without_libcurl_says_which_library_it_misses(tmp_path):
    program = tmp_path / "quern"
    shutil.copy(PROGRAM, program)
    name = re.search(rb"libcurl[-\w]*\.so\.\d+", program.read_bytes())[0]
    program.write_bytes(program.read_bytes().replace(name, name[:-1] + b"0"))
    done = subprocess.run([program, "queues", "--endpoint", "http://127.0.0.1:1"], capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert (name[:-1] + b"0").decode() in done.stderr
