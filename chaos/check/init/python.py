"""Stands for your handler under `quern check`: the effect sink does the work, and says how it went.
Call handle(body) with the text of a message. It returns: delete the message. It raises: leave it."""
import os
import urllib.request


def handle(body):
    request = urllib.request.Request(os.environ["QUERN_SINK_URL"] + "/v1/handle", body.encode())
    with urllib.request.urlopen(request, timeout=60) as answer:
        answer.read()
