"""Every behaviour of behaviours/*.json through every client, each on a server of its own."""

import concurrent.futures
import http.server
import json
import pathlib
import threading

import pytest

from sdk_clients import CLIENTS
from sdk_consuming import Lacking
from sdk_install import Unavailable
from sdk_server import Server
from sdk_steps import Behaviour

HERE = pathlib.Path(__file__).resolve().parent
FILES = ("queues", "messages", "time", "fifo", "dead_letters", "consuming")
ERRORS = json.loads((HERE / "errors.json").read_text())
BY_FILE = {
    name: json.loads((HERE / "behaviours" / (name + ".json")).read_text()) for name in FILES
}
BY_ID = {behaviour["id"]: behaviour for name in FILES for behaviour in BY_FILE[name]}
BY_NAME = {client.name: client for client in CLIENTS}
LONGEST_S = 900


def behaviours_of(client):
    return BY_FILE["consuming"] if client.kind == "framework" else BY_ID.values()


PAIRS = [(client.name, one["id"]) for client in CLIENTS for one in behaviours_of(client)]


class Outcome:
    """What came of one behaviour: trouble (or None), and what the client lacked (or None)."""

    def __init__(self, trouble=None, lacking=None):
        self.trouble = trouble
        self.lacking = lacking


def run_behaviour(client, behaviour):
    server = None
    lacking = None
    running = None
    try:
        server = Server(behaviour.get("serve", ()), client.public)
        if client.kind == "framework":
            server.run_the_clock()
        running = Behaviour(client, server, ERRORS)
        running.run(behaviour["steps"])
    except Lacking as what:
        lacking = str(what)
        trouble = None if lacking in client.lacks else "lacking, and not in its list: " + lacking
    except AssertionError as error:
        trouble = str(error)
    except Exception as error:  # a broken test or server, told like any other failure
        trouble = "%s: %s" % (type(error).__name__, error)
    else:
        trouble = None
    ended = end(running, server)
    return Outcome("\n".join(text for text in (trouble, ended) if text) or None, lacking)


def end(running, server):
    """Ends consumers and server; says what was wrong with that, if anything."""
    trouble = None
    try:
        if running is not None:
            running.close()
    except Exception as error:
        trouble = "the consumer did not end: %s" % error
    ended = server.stop() if server is not None else None
    return "\n".join(text for text in (trouble, ended) if text)


class Campaign:
    """Runs the selected behaviours of one client, a few at a time; each test waits for its own."""

    def __init__(self, client, names):
        self.client = client
        self.unavailable = None
        self.pool = None
        self.outcomes = {}
        try:
            client.open()
        except (Unavailable, OSError) as error:
            self.unavailable = str(error)
            return
        self.pool = concurrent.futures.ThreadPoolExecutor(max_workers=client.parallel)
        for name in names:
            self.outcomes[name] = self.pool.submit(run_behaviour, client, BY_ID[name])

    def outcome(self, name):
        if self.unavailable:
            return Outcome("client not available: " + self.unavailable)
        return self.outcomes[name].result(LONGEST_S)

    def close(self):
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)
        self.client.close()


@pytest.fixture(scope="session")
def campaigns(request):
    """One client after the other: a campaign starts with the first test that asks for it."""
    running = {}

    def of(name):
        if name not in running:
            chosen = request.config.chosen_behaviours.get(name, [])
            running[name] = Campaign(BY_NAME[name], chosen)
            request.config.client_versions[name] = running[name].client.version
        return running[name]

    yield of
    for campaign in running.values():
        campaign.close()


@pytest.mark.parametrize("client, behaviour", PAIRS)
def test_behaviour(campaigns, record_outcome, client, behaviour):
    outcome = campaigns(client).outcome(behaviour)
    record_outcome(client, behaviour, outcome)
    if outcome.trouble:
        text = "%s\n(%s)" % (outcome.trouble, BY_ID[behaviour]["title"])
        pytest.fail(text, pytrace=False)


@pytest.mark.parametrize("client", list(BY_NAME))
def test_what_a_client_is_said_to_lack_is_lacking(request, campaigns, client):
    campaign = campaigns(client)
    if campaign.unavailable:
        pytest.fail("client not available: " + campaign.unavailable, pytrace=False)
    chosen = request.config.chosen_behaviours.get(client, [])
    met = {campaign.outcome(name).lacking for name in chosen}
    unmet = set(campaign.client.lacks) - met
    if unmet and len(chosen) == len(behaviours_of(campaign.client)):
        pytest.fail("not lacking in any behaviour: %s" % sorted(unmet), pytrace=False)


class Ear(http.server.BaseHTTPRequestHandler):
    """Hears one request and answers that it was wrong, which no SDK tries again."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.hear(self.headers.get("Content-Type") or "")

    def do_GET(self):
        self.hear("query in the URL" if "?Action=" in self.path else "")

    def hear(self, kind):
        self.server.heard.append(kind)
        self.server.event.set()
        self.send_response(400)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def provoke(client, endpoint, event):
    """Makes the client send something."""
    if client.kind == "api":
        client.call(endpoint, "ListQueues", {}).result(60)
        return
    url = endpoint + "/000000000000/q"
    members = {"queue_url": url, "queue_name": "q", "fail": {}, "batch": 1, "consumer": "ear"}
    client.call(endpoint, "consume.start", members)
    event.wait(60)
    client.call(endpoint, "consume.stop", {"consumer": "ear"})


@pytest.mark.parametrize("client", list(BY_NAME))
def test_client_speaks_the_protocol_it_stands_for(campaigns, client):
    campaign = campaigns(client)
    if campaign.unavailable:
        pytest.fail("client not available: " + campaign.unavailable, pytrace=False)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ear) as server:
        server.heard = []
        server.event = threading.Event()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        endpoint = "http://127.0.0.1:%d" % server.server_address[1]
        provoke(campaign.client, endpoint, server.event)
        server.shutdown()
    kinds = {
        "json": ("application/x-amz-json-1.0",),
        "query": ("application/x-www-form-urlencoded", "query in the URL"),
    }
    assert server.heard[0].startswith(kinds[campaign.client.protocol])


def test_list_is_long_enough():
    assert len(BY_ID) == sum(map(len, BY_FILE.values())) >= 60
