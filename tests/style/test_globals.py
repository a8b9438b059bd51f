"""State lives in a struct that somebody owns. The exceptions are named here."""
import re
import subprocess

import tree

# The log level by rule; the armed failpoints because a failpoint is named by its text alone, wherever
# it stands.
ALLOWED = {"log.c", "failpoint.c"}

ARCHIVES = sorted((tree.TOP / "build/release").glob("libquern_*.a"))
MUTABLE = re.compile(r"^[0-9a-f]+ .{7} (\.bss|\.data(?!\.rel\.ro)|\.tbss|\.tdata|\*COM\*)\S*\s+[0-9a-f]+ (\S+)$", re.M)


def writable_objects(archive):
    listing = subprocess.run(["objdump", "-t", archive], capture_output=True, text=True, check=True,
                             timeout=60).stdout
    for member in re.split(r"\n(?=\S+:\s+file format)", listing):
        source = member.split(":", 1)[0].removesuffix(".o")
        for section, symbol in MUTABLE.findall(member):
            if symbol != section and not symbol.startswith("."):
                yield source, symbol


def test_the_release_build_is_there_to_be_read():
    assert ARCHIVES, "no libraries in build/release; ./dev test builds them"


def test_no_mutable_globals():
    assert [f"{archive.name}: {source}: {symbol}" for archive in ARCHIVES
            for source, symbol in writable_objects(archive) if source not in ALLOWED] == []
