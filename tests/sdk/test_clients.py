"""Every behaviour of behaviours/*.json through every client, each on a server of its own."""

import concurrent.futures
import http.server
import json
import pathlib
import threading

import pytest

from sdk_clients import CLIENTS, Unavailable
from sdk_server import Server
from sdk_steps import Behaviour

HERE = pathlib.Path(__file__).resolve().parent
FILES = ("queues", "messages", "time", "fifo", "dead_letters")
ERRORS = json.loads((HERE / "errors.json").read_text())
BEHAVIOURS = [
    behaviour
    for name in FILES
    for behaviour in json.loads((HERE / "behaviours" / (name + ".json")).read_text())
]
BY_ID = {behaviour["id"]: behaviour for behaviour in BEHAVIOURS}
BY_NAME = {client.name: client for client in CLIENTS}
LONGEST_S = 900


def run_behaviour(client, behaviour):
    """What is wrong, or None."""
    server = None
    try:
        server = Server(behaviour.get("serve", ()))
        Behaviour(client, server, ERRORS).run(behaviour["steps"])
    except AssertionError as error:
        trouble = str(error)
    except Exception as error:  # a broken test or server, told like any other failure
        trouble = "%s: %s" % (type(error).__name__, error)
    else:
        trouble = None
    ended = server.stop() if server is not None else None
    return "\n".join(text for text in (trouble, ended) if text) or None


class Campaign:
    """Runs the selected behaviours of one client, a few at a time; each test waits for its own."""

    def __init__(self, client, behaviours):
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
        for behaviour in behaviours:
            self.outcomes[behaviour["id"]] = self.pool.submit(run_behaviour, client, behaviour)

    def outcome(self, behaviour):
        if self.unavailable:
            return "client not available: " + self.unavailable
        return self.outcomes[behaviour["id"]].result(LONGEST_S)

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
            running[name] = Campaign(BY_NAME[name], [BY_ID[row] for row in chosen])
            request.config.client_versions[name] = running[name].client.version
        return running[name]

    yield of
    for campaign in running.values():
        campaign.close()


@pytest.mark.parametrize("behaviour", list(BY_ID))
@pytest.mark.parametrize("client", list(BY_NAME))
def test_behaviour(campaigns, client, behaviour):
    trouble = campaigns(client).outcome(BY_ID[behaviour])
    if trouble:
        pytest.fail("%s\n(%s)" % (trouble, BY_ID[behaviour]["title"]), pytrace=False)


class Ear(http.server.BaseHTTPRequestHandler):
    """Hears one request and answers that it was wrong, which no SDK tries again."""

    def do_POST(self):
        self.server.heard.append(self.headers.get("Content-Type"))
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(400)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.mark.parametrize("client", list(BY_NAME))
def test_client_speaks_the_protocol_it_stands_for(campaigns, client):
    campaign = campaigns(client)
    if campaign.unavailable:
        pytest.fail("client not available: " + campaign.unavailable, pytrace=False)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ear) as server:
        server.heard = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        endpoint = "http://127.0.0.1:%d" % server.server_address[1]
        campaign.client.call(endpoint, "ListQueues", {}).result(60)
        server.shutdown()
    kinds = {"json": "application/x-amz-json-1.0", "query": "application/x-www-form-urlencoded"}
    assert server.heard[0].startswith(kinds[campaign.client.protocol])


def test_list_is_long_enough():
    assert len(BY_ID) == len(BEHAVIOURS) >= 36
