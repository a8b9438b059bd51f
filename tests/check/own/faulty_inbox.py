"""The inbox of the reference consumers with one mistake, named by $MISTAKE; "none" is the inbox as it is. It calls no
effect sink: what it has done is told by --effects."""
import os
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "consumers"))

import inbox  # noqa: E402
import reference  # noqa: E402


class AddsAgain(inbox.Inbox):
    """The row of the business has no unique key."""

    def order(self, key, item, message, instructions):
        self.work(instructions, int(message["Attributes"]["ApproximateReceiveCount"]))
        self.store.execute("INSERT INTO orders VALUES (?, ?)", (key, item))
        return False


class DeletesFirst(inbox.Inbox):
    def finish(self, lease):
        deleted = self.delete(lease)
        try:
            self.handle(lease.message)
        except reference.Retry:
            pass
        return deleted


class EndsAtOnce(inbox.Inbox):
    """In the middle of its work, when it is told to end."""

    def work(self, instructions, receive_count):
        done = threading.Thread(target=super().work, args=(instructions, receive_count), daemon=True)
        done.start()
        while done.is_alive():
            done.join(0.05)
            if self.stop.is_set():
                os._exit(143)


class DeletesForEver(inbox.Inbox):
    def delete(self, lease):
        while not super().delete(lease):
            pass
        return True

    def give_up(self):
        threading.Event().wait()


class DiesOfErrors(inbox.Inbox):
    def __init__(self, make_sqs, *rest):
        super().__init__(lambda attempts, answer_s: make_sqs(1, answer_s), *rest)

    def receive(self):
        try:
            return super().receive()
        except reference.API_ERRORS:
            os._exit(1)


class LetsLeasesLapse(inbox.Inbox):
    def make_heartbeat(self):
        beat = super().make_heartbeat()
        beat.extend = lambda leases: True
        return beat


MISTAKES = {"none": inbox.Inbox, "adds-again": AddsAgain, "deletes-first": DeletesFirst, "ends-at-once": EndsAtOnce,
            "deletes-for-ever": DeletesForEver, "dies-of-errors": DiesOfErrors, "lets-leases-lapse": LetsLeasesLapse}

if __name__ == "__main__":
    inbox.Inbox = MISTAKES[os.environ.get("MISTAKE", "none")]
    sys.exit(inbox.main())
