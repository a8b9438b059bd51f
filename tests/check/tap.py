"""A reader of the Test Anything Protocol, version 14, that takes nothing but what its grammar allows
(no subtests: there are none to be written)."""
import json
import re

LINE = re.compile(r"(?P<ok>ok|not ok) (?P<number>\d+) - (?P<text>(?:[^#\\]|\\[#\\])+?)"
                  r"(?: # (?P<directive>SKIP|TODO)(?: (?P<reason>(?:[^#\\]|\\[#\\])+))?)?")
MEMBER = re.compile(r"  (?P<name>\w+): (?P<value>.+)")


def plain(text):
    return re.sub(r"\\([#\\])", r"\1", text) if text is not None else None


def diagnostics(lines):
    """A YAML block of which each value is a JSON text, which YAML takes as it is."""
    block = {}
    while lines[0] != "  ...":
        member = MEMBER.fullmatch(lines.pop(0))
        assert member, lines
        assert member["name"] not in block
        block[member["name"]] = json.loads(member["value"])
    lines.pop(0)
    return block


def read(text):
    """The tests as dictionaries, and why it bailed out (None: it did not)."""
    assert text.endswith("\n") and "\r" not in text
    lines = text.split("\n")[:-1]
    assert lines.pop(0) == "TAP version 14"
    plan = re.fullmatch(r"1\.\.(\d+)", lines.pop(0))
    tests, bail = [], None
    while lines:
        line = lines.pop(0)
        if line.startswith("Bail out!"):
            bail = line[len("Bail out!"):].strip()
            assert not lines
            break
        found = LINE.fullmatch(line)
        assert found, line
        test = {**found.groupdict(), "text": plain(found["text"]), "reason": plain(found["reason"])}
        assert int(test["number"]) == len(tests) + 1
        if lines and lines[0] == "  ---":
            lines.pop(0)
            test["block"] = diagnostics(lines)
        tests.append(test)
    assert int(plan[1]) == len(tests)
    return tests, bail
