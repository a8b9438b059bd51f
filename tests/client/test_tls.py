"""The client over https: certificates of one's own, and those that are not to be trusted."""
import os
import re
import socket
import ssl
import subprocess
import threading

import pytest

PROGRAM = os.environ["QUERN_PROGRAM"]


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, timeout=60)


def make_authority(folder, name):
    key, certificate = folder / f"{name}.key", folder / f"{name}.pem"
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", 2,
            "-subj", f"/CN={name}", "-addext", "basicConstraints=critical,CA:TRUE", "-keyout", key, "-out", certificate)
    return key, certificate


def make_certificate(folder, authority, name, alternative):
    key, request, certificate = (folder / f"{name}.{end}" for end in ("key", "csr", "crt"))
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={name}",
            "-keyout", key, "-out", request)
    extensions = folder / f"{name}.ext"
    extensions.write_text(f"subjectAltName={alternative}\n")
    openssl("x509", "-req", "-in", request, "-CA", authority[1], "-CAkey", authority[0], "-CAcreateserial",
            "-days", 2, "-extfile", extensions, "-out", certificate)
    return certificate, key


def pump(source, target):
    try:
        while piece := source.recv(65536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


class Terminator:
    """Speaks TLS in front of a server that does not."""

    def __init__(self, certificate, port):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(*certificate)
        self.port_behind = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                plain, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(plain,), daemon=True).start()

    def serve(self, plain):
        try:
            with self.context.wrap_socket(plain, server_side=True) as client, \
                    socket.create_connection(("127.0.0.1", self.port_behind)) as server:
                there = threading.Thread(target=pump, args=(client, server), daemon=True)
                there.start()
                pump(server, client)
        except OSError:  # the client does not trust us
            plain.close()

    def close(self):
        self.listener.close()


@pytest.fixture(scope="module")
def port():
    server = subprocess.Popen([PROGRAM, "serve", "--port", "0", "--queue", "q"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
    for line in server.stdout:
        found = re.search(r"http://[^\s:]+:(\d+)", line)
        if found:
            break
    threading.Thread(target=server.stdout.read, daemon=True).start()
    yield int(found[1])
    server.terminate()
    server.wait(30)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tls")


@pytest.fixture(scope="module")
def authority(folder):
    return make_authority(folder, "ours")


@pytest.fixture
def terminator(request, folder, authority, port):
    alternative = getattr(request, "param", "IP:127.0.0.1")
    made = Terminator(make_certificate(folder, authority, re.sub(r"\W", "-", alternative), alternative), port)
    yield made
    made.close()


def send(terminator, **environment):
    place = f"https://127.0.0.1:{terminator.port}"
    done = subprocess.run([PROGRAM, "send", f"{place}/000000000000/q", "-", "--endpoint", place], input="hello",
                          env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", "AWS_MAX_ATTEMPTS": "1",
                               "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", **environment},
                          capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stderr.strip()


def test_certificates_of_the_bundle_are_trusted(terminator, authority):
    assert send(terminator, AWS_CA_BUNDLE=str(authority[1])) == (0, "")


def test_bundle_of_the_profile_is_used(terminator, authority, tmp_path):
    (tmp_path / "config").write_text(f"[default]\nca_bundle = {authority[1]}\n")
    assert send(terminator, AWS_CONFIG_FILE=str(tmp_path / "config")) == (0, "")


def test_who_is_not_in_the_bundle_is_not_trusted(terminator, folder):
    code, said = send(terminator, AWS_CA_BUNDLE=str(make_authority(folder, "theirs")[1]))
    assert code != 0 and "certificate" in said and len(said.splitlines()) == 1, said


def test_without_a_bundle_the_system_decides(terminator):
    code, said = send(terminator)
    assert code != 0 and "certificate" in said, said


@pytest.mark.parametrize("terminator", ["DNS:sqs.example"], indirect=True)
def test_a_certificate_for_another_host_is_refused(terminator, authority):
    code, said = send(terminator, AWS_CA_BUNDLE=str(authority[1]))
    assert code != 0 and "certificate" in said and "127.0.0.1" in said, said


def test_a_bundle_that_is_not_there_is_told_before_anything_is_sent(terminator, tmp_path):
    code, said = send(terminator, AWS_CA_BUNDLE=str(tmp_path / "none.pem"))
    assert code != 0 and "AWS_CA_BUNDLE" in said and "none.pem" in said, said


def test_where_nothing_is_encrypted_the_bundle_is_not_looked_at(port):
    place = f"http://127.0.0.1:{port}"
    done = subprocess.run([PROGRAM, "send", f"{place}/000000000000/q", "-", "--endpoint", place], input="hello",
                          env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", "AWS_CA_BUNDLE": "/nonexistent"},
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
