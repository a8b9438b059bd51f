#!/usr/bin/env python3
"""The reference consumer in its simplest form: one message after the other, ten at a time, deleted
in one call, without a heartbeat. Right as long as the visibility timeout is larger than the work on
ten messages.

    sequential.py
"""

import time

import reference

FIRST_PAUSE_S, PAUSES = 0.2, 5


class NoHeartbeat:
    """Extends nothing, and knows the leases all the same: at the end they are handed back."""

    def __init__(self):
        self.leases = {}

    def put_in(self, leases):
        self.leases = {id(lease): lease for lease in leases}

    def take_out(self, lease):
        self.leases.pop(id(lease), None)


class Sequential(reference.Worker):
    def make_heartbeat(self):
        return NoHeartbeat()

    def work_off(self, leases):
        blocked = set()
        done = []
        for lease in leases:
            if lease.group in blocked or self.stop.is_set():
                self.hand_back(lease)
            elif lease.is_live() and self.works(lease):
                self.heartbeat.take_out(lease)
                done.append(lease)
            else:
                self.heartbeat.take_out(lease)
                if self.is_fifo():
                    blocked.add(lease.group)
        self.delete_all(done)

    def works(self, lease):
        try:
            self.handle(lease.message)
        except reference.Retry as reason:
            reference.log("retry", message=lease.message["MessageId"], reason=str(reason))
            return False
        return True

    def delete_all(self, leases):
        """Entries that failed are deleted again, as long as that may help."""
        left = {str(n): lease for n, lease in enumerate(leases)}
        for attempt in range(PAUSES):
            if not left:
                return
            if attempt > 0:
                time.sleep(FIRST_PAUSE_S * 2**attempt)
            entries = [{"Id": n, "ReceiptHandle": lease.handle} for n, lease in left.items()]
            try:
                answer = self.sqs.delete_message_batch(QueueUrl=self.queue_url, Entries=entries)
            except reference.API_ERRORS as error:
                reference.log("delete failed", error=str(error))
                continue
            for entry in answer.get("Successful", []):
                left.pop(entry["Id"], None)
            for entry in answer.get("Failed", []):
                reference.log("delete failed", error=entry["Code"])
                if entry.get("SenderFault"):
                    left.pop(entry["Id"], None)


if __name__ == "__main__":
    reference.main(Sequential)
