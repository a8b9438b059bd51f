#!/usr/bin/env python3
"""The reference consumer with one mistake, for tests of the verdicts: mutants.py --bug NAME.

    no-idempotency        the effect carries no key, so a message that comes twice counts twice
    early-ack             the message is deleted before its work is done
    skip-without-delete   a message that was done before is recognised, and never deleted
"""

import argparse

import reference


class NoIdempotency(reference.Worker):
    def headers(self, key, message):
        headers = super().headers(key, message)
        del headers["Idempotency-Key"]
        return headers


class EarlyAck(reference.Worker):
    def finish(self, lease):
        deleted = self.delete(lease)
        try:
            self.handle(lease.message)
        except reference.Retry as reason:
            reference.log("lost", message=lease.message["MessageId"], reason=str(reason))
        return deleted


class SkipWithoutDelete(reference.Worker):
    def finish(self, lease):
        try:
            done_before = self.handle(lease.message)
        except reference.Retry:
            return False
        return False if done_before else self.delete(lease)


BUGS = {
    "no-idempotency": NoIdempotency,
    "early-ack": EarlyAck,
    "skip-without-delete": SkipWithoutDelete,
}

if __name__ == "__main__":
    bugs = argparse.ArgumentParser(add_help=False)
    bugs.add_argument("--bug", choices=BUGS, required=True)
    chosen, _ = bugs.parse_known_args()
    reference.main(BUGS[chosen.bug], argparse.ArgumentParser(parents=[bugs]))
