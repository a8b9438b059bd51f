"""Reading what `quern serve --record` writes."""
import json


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
