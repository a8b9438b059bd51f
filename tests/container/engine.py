"""A Docker engine of our own, started by hand.

It lives in its own network, mount and process namespaces. So its bridges and packet filter rules,
its mounts and whatever it started are gone when its first process ends, and the machine's own
network, and an engine that may run there, are left as they were. What is published is published
inside: `with engine.network():` takes the caller there.
"""
import contextlib
import ctypes
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from commands import Failed, run

CLONE_NEWNET = 0x40000000
CGROUPS = Path("/sys/fs/cgroup")
START_S = 30


def enter_network(namespace):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


class Engine:
    def __init__(self, folder):
        if os.geteuid() != 0:
            raise Failed("a Docker engine can be started by root only")
        self.data = Path(tempfile.mkdtemp(prefix="engine-", dir=folder))
        self.place = Path(tempfile.mkdtemp(prefix="quern-engine-"))  # a socket's path must be short
        self.cgroup = f"quern-{os.getpid()}"
        self.host = f"unix://{self.place}/docker.sock"
        self.log = self.place / "log"
        command = ["dockerd", "--data-root", self.data, "--exec-root", self.place / "exec",
                   "--pidfile", self.place / "pid", "--host", self.host,
                   "--exec-opt", "native.cgroupdriver=cgroupfs", "--cgroup-parent", f"/{self.cgroup}"]
        self.process = subprocess.Popen(
            ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "--",
             "sh", "-c", 'ip link set lo up && "$@" & wait', "sh", *map(str, command)],
            stdin=subprocess.DEVNULL, stdout=open(self.log, "wb"), stderr=subprocess.STDOUT)
        try:
            self.wait_until_ready()
        except BaseException:
            self.close()
            raise

    def wait_until_ready(self):
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            try:
                self.docker("info")
                return
            except Failed:
                if self.process.poll() is not None:
                    break
                time.sleep(0.1)
        last = self.log.read_text(errors="replace").splitlines()[-8:]
        raise Failed("the Docker engine did not start:\n" + "\n".join(last))

    @property
    def environment(self):
        return {"DOCKER_HOST": self.host, "DOCKER_CONFIG": str(self.place / "config")}

    def run(self, *argv, **options):
        with self.network():
            return run(*argv, env=self.environment, **options)

    def docker(self, *argv, **options):
        return run("docker", *argv, env=self.environment, **options)

    def inspect(self, name):
        return json.loads(self.docker("inspect", name))[0]

    def first_process(self):
        """As the machine counts; inside, it is number 1."""
        pid = self.process.pid
        return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])

    @contextlib.contextmanager
    def network(self):
        with open("/proc/self/ns/net") as ours, open(f"/proc/{self.first_process()}/ns/net") as its:
            enter_network(its.fileno())
            try:
                yield
            finally:
                enter_network(ours.fileno())

    def wait_until(self, seen, what, timeout_s=10):
        """Until seen() is true: of what happens in containers there is no other notice."""
        deadline = time.monotonic() + timeout_s
        while not seen():
            if time.monotonic() > deadline:
                raise Failed(f"not {what} within {timeout_s} s")
            time.sleep(0.02)

    def close(self):
        """Containers first, in good order, for they have cgroups; then the rest at once."""
        with contextlib.suppress(Failed):
            names = self.docker("ps", "-aq").split()
            if names:
                self.docker("rm", "-f", "-v", *names)
        self.process.send_signal(signal.SIGKILL)  # and with it, by --kill-child, all inside
        self.process.wait()
        for controller in CGROUPS.glob(f"**/{self.cgroup}"):
            for group in sorted(controller.glob("**/"), reverse=True):
                with contextlib.suppress(OSError):
                    group.rmdir()
        for folder in (self.data, self.place):
            self.remove(folder)

    @staticmethod
    def remove(folder):
        """What was mounted there vanishes with the namespace, a moment after the processes."""
        deadline = time.monotonic() + 5
        while folder.exists():
            shutil.rmtree(folder, ignore_errors=time.monotonic() < deadline)
