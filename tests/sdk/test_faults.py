"""What real clients make of each fault: the exception a program sees, how often the client tried, what is stored then.

Rows of faults.json: `rule` always fires, and then once; `seen` says for each client what its program sees of the former
and after how many calls. A fault that comes once is not seen at all by a client that tries again. `stores` says what
comes of the calls: each is stored ("each"), or those that were answered with success ("good"); a receive "leases".
The table "What clients see" of chaos/README.md is made of them: QUERN_SDK_TABLE=write writes it.
"""

import concurrent.futures
import json
import os
import pathlib
import re

import pytest

from sdk_clients import CLIENTS, found
from sdk_install import Unavailable
from sdk_server import Server

HERE = pathlib.Path(__file__).resolve().parent
ROWS = json.loads((HERE / "faults.json").read_text())
PAGE = HERE.parents[1] / "chaos" / "README.md"
MARKED = re.compile(r"(<!-- begin clients[^\n]*-->\n)(.*)(<!-- end clients -->)", re.S)
NAMES = [client.name for client in CLIENTS if client.name in ROWS[0]["seen"]]
TIMEOUT_S = 1
LONGEST_S = 120
EMPTY = "success, all members missing"


class Run:
    """One call under a fault: what the program sees, how many calls the server saw, what it holds then."""

    def __init__(self, client, row, once):
        self.trouble = None
        rule = row["rule"].replace(" do ", " once do ") if once else row["rule"]
        server = Server(["--queue", "q", "--fault", rule + " as fault"])
        try:
            self.look(client, row, server)
        finally:
            self.trouble = server.stop()

    def look(self, client, row, server):
        action = row.get("action", "SendMessage")
        members = {"QueueUrl": server.endpoint + "/000000000000/q"}
        if action == "SendMessage":
            members["MessageBody"] = "x"
        else:
            server.give("SendMessage", {**members, "MessageBody": "x"})
        if row["stores"] == "none":
            server.give("ListQueues", {})  # from here on nobody new comes in
        reply = client.call(server.endpoint, action, members, timeout_s=TIMEOUT_S).result(LONGEST_S)
        self.says = says(reply)
        self.calls = self.stored = None
        if row["stores"] != "none":
            self.calls = server.calls_seen(action)
            counts = server.counts("q")
            self.stored = counts["in_flight" if row["stores"] == "leases" else "visible"]


def says(reply):
    """What a program sees, in a few words."""
    if "output" in reply:
        return "success" if reply["output"] else EMPTY
    if "error" in reply:
        return "%(class)s %(code)s" % reply["error"]
    thrown = reply["thrown"]
    name = thrown.get("name") or thrown["class"]
    more = thrown.get("code") or (name == "Error" and thrown["message"].partition(":")[0])
    return "%s %s" % (name, more) if more else name


class Campaign:
    """All faults through one client, several at a time."""

    def __init__(self, name):
        (self.client,) = [client for client in found() if client.name == name]
        self.pool = concurrent.futures.ThreadPoolExecutor(max_workers=8)
        self.runs = {}
        self.unavailable = None
        try:
            self.client.open()
        except (Unavailable, OSError) as error:
            self.unavailable = str(error)
            return
        for row in ROWS:
            for once in (False, True):
                self.runs[row["rule"], once] = self.pool.submit(Run, self.client, row, once)

    def run(self, row, once):
        if self.unavailable:
            pytest.fail("client not available: " + self.unavailable, pytrace=False)
        return self.runs[row["rule"], once].result(600)

    def close(self):
        self.pool.shutdown(cancel_futures=True)
        self.client.close()


@pytest.fixture(scope="module")
def campaigns():
    running = {}

    def of(name):
        if name not in running:
            running[name] = Campaign(name)
        return running[name]

    yield of
    for campaign in running.values():
        campaign.close()


def is_good(words):
    return words in ("success", EMPTY)


def stored(row, run):
    return {"each": run.calls, "good": int(is_good(run.says)), "leases": 1, "none": None}[row["stores"]]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["rule"])
@pytest.mark.parametrize("name", NAMES)
def test_what_a_client_sees(campaigns, name, row):
    want, calls = row["seen"][name]
    run = campaigns(name).run(row, once=False)
    assert run.trouble is None
    assert (run.says, run.calls, run.stored) == (want, calls, stored(row, run))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["rule"])
@pytest.mark.parametrize("name", NAMES)
def test_what_comes_of_a_fault_that_comes_once(campaigns, name, row):
    """A client that tries again has success with the second call, and may have sent twice."""
    want, calls = row["seen"][name]
    run = campaigns(name).run(row, once=True)
    assert run.trouble is None
    again = calls is not None and calls > 1
    assert (run.says, run.calls) == ("success" if again else want, 2 if again else calls)
    assert run.stored == stored(row, run)


LABELS = {"boto3-json": "boto3 1.44", "boto3-query": "boto3 1.26 (query)", "js-v3-json": "JavaScript v3"}


def cell(words, calls):
    text = words if is_good(words) else "`%s`" % words.replace(" ", "` `", 1)
    return text if calls in (None, 1) else "%s, %d calls" % (text, calls)


def table():
    yield "| fault | %s |\n" % " | ".join(LABELS.values())
    yield "| --- |%s\n" % (" --- |" * len(LABELS))
    for row in ROWS:
        if not row.get("hidden"):
            yield "| %s | %s |\n" % (row["fault"], " | ".join(cell(*row["seen"][name]) for name in LABELS))


def test_the_page_of_rules_shows_the_table():
    page = PAGE.read_text()
    if os.environ.get("QUERN_SDK_TABLE") == "write":
        PAGE.write_text(MARKED.sub(lambda m: m[1] + "".join(table()) + m[3], page))
        page = PAGE.read_text()
    assert MARKED.search(page).group(2) == "".join(table())
