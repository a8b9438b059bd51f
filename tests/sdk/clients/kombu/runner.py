"""Consumers and producers made with kombu or celery; lines in and out as sdk_clients.py says.

    runner.py kombu|celery

kombu keeps its queues and connections for the whole process, so each consumer, and the producer of
each server, is a process of its own (worker.py), which says what its handler was given.
"""

import json
import pathlib
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

WORKER = pathlib.Path(__file__).resolve().parent / "worker.py"
kind = sys.argv[1]
output_lock = threading.Lock()
producers_lock = threading.Lock()
consumers = {}
producers = {}


class Worker:
    """A process that reads a line of settings; what it writes is kept."""

    def __init__(self, role, settings):
        command = ["/usr/bin/python3", str(WORKER), kind, role]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, encoding="utf-8", **pipes)
        self.tell(settings)

    def tell(self, line):
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()

    def hear(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the worker ended with %d" % self.process.wait(10))
        return json.loads(line)

    def end(self):
        self.process.kill()
        self.process.wait()


class Consumer(Worker):
    def __init__(self, settings):
        super().__init__("consume", settings)
        self.hear()  # it is about to poll
        self.seen = []
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            self.seen.append(json.loads(line))


def start(endpoint, members):
    consumers[members["consumer"]] = Consumer(dict(members, endpoint=endpoint))
    return {}


def seen(_endpoint, members):
    consumer = consumers[members["consumer"]]
    if consumer.process.poll() is not None:
        raise RuntimeError("the worker ended with %d" % consumer.process.poll())
    return {"seen": list(consumer.seen)}


def stop(_endpoint, members):
    consumers.pop(members["consumer"]).end()
    return {}


def send(endpoint, members):
    with producers_lock:
        if endpoint not in producers:
            producers[endpoint] = Worker("produce", {"endpoint": endpoint})
        producers[endpoint].tell(members)
        return producers[endpoint].hear()


CALLS = {"consume.start": start, "consume.seen": seen, "consume.stop": stop, "send": send}


def answer(request):
    reply = {"id": request["id"]}
    members = request["members"]
    try:
        if "MessageAttributes" in members:
            reply["lacks"] = "message attributes"
        else:
            reply["output"] = CALLS[request["action"]](request["endpoint"], members)
    except Exception as error:  # for the test to judge
        reply["broken"] = "%s: %s" % (type(error).__name__, error)
    with output_lock:
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


def main():
    module = __import__(kind)
    print(json.dumps({"client": "%s %s" % (kind, module.__version__)}), flush=True)
    with ThreadPoolExecutor(max_workers=16) as pool:
        for line in sys.stdin:
            pool.submit(answer, json.loads(line))
    for worker in [*consumers.values(), *producers.values()]:
        worker.end()


if __name__ == "__main__":
    main()
