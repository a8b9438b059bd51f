"""A store whose server is started again by its supervisor when it was killed."""
import http.client
import os
import pathlib
import signal
import time

from durable import Connection, Store

GONE = (OSError, http.client.HTTPException)
LIMIT_S = 30


def until(condition, what, within_s=LIMIT_S):
    """Waits for another process to get there."""
    deadline = time.monotonic() + within_s
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < deadline, "%s never came" % what
        time.sleep(0.005)


def children(pid):
    return [int(word) for word in pathlib.Path("/proc/%d/task/%d/children" % (pid, pid)).read_text().split()]


def is_alive(pid):
    try:
        return pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def info(server):
    """What the server says of itself; None while there is none."""
    try:
        status, answer = server.control("GET", "/_quern/info")
    except GONE:
        return None
    return answer if status == 200 else None


def life(server):
    answer = info(server)
    return answer["supervised"]["life"] if answer else None


def await_life(server, number):
    """Waits for the start of that number."""
    until(lambda: (life(server) or 0) >= number or server.process.poll() is not None, "life %d" % number)
    assert server.process.poll() is None, server.log()
    assert life(server) == number, server.log()


def kill_server(server):
    """From outside, as the system would for want of memory."""
    (pid,) = children(server.process.pid)
    os.kill(pid, signal.SIGKILL)
    until(lambda: not is_alive(pid), "the end of the server")


def post(server, path, document):
    status, answer = server.control("POST", path, document)
    assert status == 200, answer
    return answer


def rules(server):
    return {rule["name"]: rule for rule in server.control("GET", "/_quern/rules")[1]["rules"]}


def armed(server):
    listed = server.control("GET", "/_quern/failpoints")[1]["failpoints"]
    return {f["name"]: f for f in listed if f["mode"]}


class SupervisedStore(Store):
    """The supervisor is `server`; its children come and go."""

    def __init__(self, folder, options=(), restart_after="1ms"):
        super().__init__(folder, options=("--supervise", "--restart-after", restart_after, *options))

    def reconnect(self, number):
        """To the server of that life."""
        await_life(self.server, number)
        self.connection.close()
        self.connection = Connection(self.server.port)
        self.now_ms = self.clock_ms()
