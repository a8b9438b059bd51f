"""Plays one case file against a server: its setup, the exchange it is about, and what must hold then."""
import http.client
import itertools
import json
import pathlib
import re
from urllib.parse import quote_plus

from . import wire
from .language import expand, match, pick, substitute

ACCOUNT = "000000000000"
REGION = "us-east-1"
PROTOCOLS = ("json", "query")
_VARIABLE = re.compile(r"\$\{[A-Za-z0-9_.]+\}")
_serial = itertools.count(1)


class Case:
    """The file as data."""

    def __init__(self, path, folder):
        self.path = pathlib.Path(path)
        self.name = "%s-%s" % (self.path.parent.relative_to(folder), self.path.stem)
        self.data = json.loads(self.path.read_text(encoding="utf-8"))

    @property
    def protocols(self):
        return self.data.get("protocols", PROTOCOLS)

    @property
    def options(self):
        return tuple(self.data.get("options", ()))

    def test_id(self, protocol):
        return "%s-%s-%s" % (self.data["rule"].replace(" ", "_"), self.name, protocol)


class Player:
    """Plays the case in one protocol. Queues that it made are deleted by clean_up()."""

    def __init__(self, case, protocol, server, client):
        self.case, self.protocol, self.server, self.client = case, protocol, server, client
        self.made = []
        self.variables = {
            "id": "c%d" % next(_serial),
            "endpoint": server.endpoint,
            "account": ACCOUNT,
            "region": REGION,
        }

    def play(self):
        for number, step in enumerate(self.case.data.get("setup", ())):
            self._step(step, "setup[%d]" % number)
        request, answer = self.case.data["request"], self.case.data["answer"]
        self._exchange({**request, "call": request["action"], "answer": answer}, "answer")
        for number, step in enumerate(self.case.data.get("then", ())):
            self._step(step, "then[%d]" % number)

    def clean_up(self):
        try:
            for url, how in self.made:
                self.client.send(wire.json_request("DeleteQueue", {"QueueUrl": url}, **how))
        except (OSError, http.client.HTTPException):
            pass  # a server that is gone is reported by the check that follows

    def _step(self, step, where):
        if "repeat" in step:
            for n in range(1, step["repeat"] + 1):
                self.variables["i"] = n
                self._step(step["step"], "%s(%d)" % (where, n))
        elif "advance_s" in step:
            self.server.advance_ms(step["advance_s"] * 1000)
        elif "advance_ms" in step:
            self.server.advance_ms(step["advance_ms"])
        elif "counts" in step:
            self._count(step, where)
        elif "queue" in step or "fifo" in step:
            self._make_queue(step, where)
        else:
            self._exchange(step, where)

    def _make_queue(self, step, where):
        """{"queue": "q"} or {"fifo": "q"}: a fresh queue, then ${q}, ${q.name} and ${q.arn}."""
        label = step.get("queue") or step["fifo"]
        name = "%s-%s" % (self.variables["id"], label)
        attributes = dict(step.get("attributes", {}))
        if "fifo" in step:
            name += ".fifo"
            attributes["FifoQueue"] = "true"
        members = {"QueueName": name}
        if attributes:
            members["Attributes"] = attributes
        if "tags" in step:
            members["tags"] = step["tags"]
        self._exchange({"call": "CreateQueue", "members": members, "capture": {label: "QueueUrl"}}, where)
        self.variables[label + ".name"] = name
        self.variables[label + ".arn"] = "arn:aws:sqs:%s:%s:%s" % (REGION, ACCOUNT, name)

    def _count(self, step, where):
        """{"counts": "q", "visible": 1, "in_flight": 0, "delayed": 0}: the three counts of a queue."""
        names = {
            "ApproximateNumberOfMessages": "visible",
            "ApproximateNumberOfMessagesNotVisible": "in_flight",
            "ApproximateNumberOfMessagesDelayed": "delayed",
        }
        wanted = {name: str(step[key]) for name, key in names.items()}
        members = {"QueueUrl": self.variables[step["counts"]], "AttributeNames": list(names)}
        answer = {"members": {"Attributes": wanted}}
        self._exchange({"call": "GetQueueAttributes", "members": members, "answer": answer}, where)

    def _exchange(self, step, where):
        action = step["call"]
        how = {k: substitute(step[k], self.variables) for k in ("region", "access_key") if k in step}
        reply = self.client.send(self._request(action, step, how))
        if self.protocol == "json":
            answer = wire.read_json(action, reply)
        else:
            answer = wire.read_xml(action, reply)
        if answer.status == 200 and action == "CreateQueue":
            self.made.append((answer.members["QueueUrl"], how))
        self._check(step.get("answer"), answer, reply, where)
        for variable, path in step.get("capture", {}).items():
            self.variables[variable] = pick(path, answer.members)

    def _request(self, action, step, how):
        """The members in this protocol, or the spelling that the file gives for it."""
        headers = {k: v and substitute(v, self.variables) for k, v in step.get("headers", {}).items()}
        raw = step.get(self.protocol)
        if self.protocol == "json":
            body = expand(step.get("members", {}), self.variables)
            if raw is not None:
                body = substitute(raw["text"], self.variables)
            return wire.json_request(action, body, headers=headers, **how)
        if raw is not None:
            how = {**how, "method": raw.get("method", "POST")}
            how["path"] = substitute(raw.get("path", "/"), self.variables)
        if raw is None:
            form = wire.to_pairs(action, expand(step.get("members", {}), self.variables))
        elif "text" in raw:
            form = _VARIABLE.sub(lambda m: quote_plus(substitute(m.group(), self.variables)), raw["text"])
        else:
            form = [(k, expand(v, self.variables)) for k, v in raw["form"]]
        return wire.query_request(form, headers=headers, **how)

    def _check(self, expected, answer, reply, where):
        expected = dict(expected or {})
        expected.update(expected.pop(self.protocol, {}))
        expected.pop("query" if self.protocol == "json" else "json", None)
        status = expected.get("status", 200)
        assert answer.status == status, "%s: status %d expected, got %s" % (where, status, reply)
        if status == 200:
            if "members" in expected:
                match(expected["members"], answer.members, self.variables, where)
            if "length" in expected and self.protocol == "json":
                assert len(reply.body) == expected["length"], "%s: body of %d bytes" % (
                    where,
                    len(reply.body),
                )
            return
        if self.protocol == "json":
            match(expected["type"], answer.type, self.variables, where + ".__type")
            if expected["code"] is None:
                assert answer.code is None, "%s: x-amzn-query-error is there: %s" % (where, reply)
        if expected["code"] is not None:
            match(expected["code"], answer.code, self.variables, where + ".code")
            match(expected["fault"], answer.fault, self.variables, where + ".fault")
        if "message" in expected:
            message = expected["message"]
            if isinstance(message, dict) and self.protocol in message:
                message = message[self.protocol]
            match(message, answer.message, self.variables, where + ".message")
