"""Requests are signed as botocore would sign them."""
import hashlib
import http.server
import json
import os
import re
import subprocess
import threading
import uuid

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

KEYS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}


class Recorder(http.server.BaseHTTPRequestHandler):
    """Keeps each request, and answers a send as SQS does."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append((self.path, self.headers, body))
        if self.server.failures > 0:
            self.server.failures -= 1
            self.send_response(503)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        text = json.loads(body)["MessageBody"]
        answer = json.dumps({"MessageId": "m", "MD5OfMessageBody": hashlib.md5(text.encode()).hexdigest()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


@pytest.fixture(name="recorder")
def make_recorder():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    server.requests, server.failures = [], 0
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def send(recorder, body, **environment):
    place = f"http://127.0.0.1:{recorder.server_port}"
    done = subprocess.run([os.environ["QUERN_PROGRAM"], "send", f"{place}/000000000000/q", "-", "--endpoint", place],
                          input=body, env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **environment},
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return recorder.requests[-1]


def signature_of(request, region, token=None):
    """What botocore makes of the same method, path, signed headers, time and body."""
    path, headers, body = request
    told = re.search(r"Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=(\w+)", headers["Authorization"])
    auth = SigV4Auth(Credentials(KEYS["AWS_ACCESS_KEY_ID"], KEYS["AWS_SECRET_ACCESS_KEY"], token), "sqs", region)
    wanted = AWSRequest("POST", f"http://{headers['Host']}{path}", data=body)
    wanted.context["timestamp"] = headers["X-Amz-Date"]
    for name in told[2].split(";"):
        wanted.headers[name] = headers[name]
    assert told[1] == f"AKIDEXAMPLE/{headers['X-Amz-Date'][:8]}/{region}/sqs/aws4_request"
    assert auth.signature(auth.string_to_sign(wanted, auth.canonical_request(wanted)), wanted) == told[3]
    return told[2].split(";")


@pytest.mark.parametrize("body", ["hello", "any \"text\" € ü 漢 & <x>", "x" * 1200000],
                         ids=["plain", "any characters", "more than a MiB"])
def test_a_request_has_the_signature_that_botocore_computes(recorder, body):
    request = send(recorder, body, **KEYS, AWS_REGION="eu-central-1")
    signed = signature_of(request, "eu-central-1")
    assert {"host", "x-amz-date", "x-amz-target"} <= set(signed)
    assert json.loads(request[2])["MessageBody"] == body


def test_attempts_of_one_call_have_its_id(recorder):
    recorder.failures = 1
    for _ in range(2):
        signed = signature_of(send(recorder, "hello", **KEYS, AWS_REGION="us-east-1"), "us-east-1")
        assert {"amz-sdk-invocation-id", "amz-sdk-request"} <= set(signed)
    ids = [uuid.UUID(headers["amz-sdk-invocation-id"]) for _, headers, _ in recorder.requests]
    assert ids[0] == ids[1] != ids[2] and {one.version for one in ids} == {4}
    assert [headers["amz-sdk-request"] for _, headers, _ in recorder.requests] == [
        "attempt=1; max=3", "attempt=2; max=3", "attempt=1; max=3"]


def test_a_session_token_is_sent_and_signed(recorder):
    request = send(recorder, "hello", **KEYS, AWS_SESSION_TOKEN="FwoGZXIvYXdzE==/+", AWS_REGION="us-east-1")
    assert "x-amz-security-token" in signature_of(request, "us-east-1", "FwoGZXIvYXdzE==/+")
    assert request[1]["X-Amz-Security-Token"] == "FwoGZXIvYXdzE==/+"


def test_without_keys_nothing_is_signed(recorder):
    request = send(recorder, "hello")
    assert "Authorization" not in request[1]


def test_keys_and_region_come_from_the_profile(recorder, tmp_path):
    credentials = tmp_path / "credentials"
    credentials.write_text(f"[work]\naws_access_key_id = {KEYS['AWS_ACCESS_KEY_ID']}\n"
                           f"aws_secret_access_key = {KEYS['AWS_SECRET_ACCESS_KEY']}\nregion = sa-east-1\n")
    request = send(recorder, "hello", AWS_PROFILE="work", AWS_SHARED_CREDENTIALS_FILE=str(credentials))
    signature_of(request, "sa-east-1")
