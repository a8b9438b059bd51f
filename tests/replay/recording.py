"""Recordings: reading what `quern serve --record` writes, and writing some by hand."""
import json

BEGIN = 1767225600000  # of a virtual clock


def lines(path):
    """All lines, which must be whole."""
    text = path.read_bytes()
    assert text == b"" or text.endswith(b"\n"), text[-200:]
    return [json.loads(line) for line in text.splitlines()]


def of_kind(path, kind):
    return [line for line in lines(path) if line["kind"] == kind]


def exchanges(path):
    """Pairs of a request and its answer, in the order of the requests."""
    answers = {line["n"]: line for line in of_kind(path, "answer")}
    return [(request, answers.get(request["n"])) for request in of_kind(path, "request")]


class Writer:
    """A recording by hand."""

    def __init__(self):
        self.lines = [{"kind": "start", "format": "quern-record-1", "version": "0", "seed": "1", "boot": 1, "vt": BEGIN, "wt": BEGIN}]
        self.n = 0

    def add(self, kind, at=0, **members):
        self.lines.append({"kind": kind, "at": at, "vt": BEGIN, **members})
        return self

    def request(self, action, members, conn=1, at=0, **more):
        self.n += 1
        self.add("request", at, n=self.n, conn=conn, action=action, input=members, **more)
        return self.n

    def answer(self, n, output=None, code="OK", at=0, **more):
        self.add("answer", at, n=n, status=200 if code == "OK" else 400, code=code,
                 **({} if output is None else {"output": output}), **more)

    def exchange(self, action, members, output=None, code="OK", **more):
        n = self.request(action, members, **more)
        self.answer(n, output, code, at=more.get("at", 0))
        return n

    def text(self):
        return "".join(json.dumps(line) + "\n" for line in self.lines)

    def write(self, path):
        path.write_text(self.text())
        return path
