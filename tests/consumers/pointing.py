#!/usr/bin/env python3
"""The reference consumer for messages that point to their payload: it fetches and compares first.

    pointing.py [--trust]        with --trust the bytes are taken as they come, which is wrong
"""

import argparse
import hashlib
import json
import sys
import urllib.error

import reference

FETCH_S = 20


class Pointing(reference.Worker):
    def handle(self, message):
        try:
            payload = json.loads(message["Body"])["payload"]
            place, wanted = payload["url"], payload["sha256"]
        except (ValueError, KeyError, TypeError):
            return super().handle(message)
        if hashlib.sha256(self.fetch(place)).hexdigest() != wanted:
            self.quarantine(payload["id"], "the payload is not the one that was sent")
            return False
        return super().handle(message)

    def fetch(self, place):
        try:
            with self.sink.opener.open(place, timeout=FETCH_S) as answer:
                return answer.read()
        except (urllib.error.URLError, OSError) as error:
            raise reference.Retry("not there, which may change: %s" % error) from error


class Trusting(Pointing):
    def handle(self, message):
        try:
            self.fetch(json.loads(message["Body"])["payload"]["url"])
        except reference.Retry:
            pass
        return reference.Worker.handle(self, message)


if __name__ == "__main__":
    words = argparse.ArgumentParser(add_help=False)
    words.add_argument("--trust", action="store_true")
    chosen, _ = words.parse_known_args(sys.argv[1:])
    reference.main(Trusting if chosen.trust else Pointing, argparse.ArgumentParser(parents=[words]))
