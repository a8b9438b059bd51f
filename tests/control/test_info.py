"""What the server says of itself, and who may ask."""
import pytest


def test_health_is_ok(server):
    assert server.control("GET", "/_quern/health") == (200, {"status": "ok"})
    assert server.control("GET", "/health") == (200, {"status": "ok"})


def test_info_tells_version_seed_clock_and_options(server):
    status, info = server.control("GET", "/_quern/info")
    assert status == 200
    assert info["version"] and info["seed"] == "7" and info["boot"] == 1
    assert info["clock"]["kind"] == "virtual" and info["clock"]["rate"] == 0
    assert info["listening"] == [server.endpoint]
    assert info["options"]["bind"] == ["127.0.0.1:0"] and info["options"]["db"] is None
    assert info["journal"] is None


def test_info_of_a_server_on_a_file_tells_of_its_journal(start, tmp_path):
    server = start("--db", str(tmp_path / "q.db"), "--sync", "full")
    info = server.control("GET", "/_quern/info")[1]
    assert info["journal"]["write_errors"] == 0
    assert info["options"]["sync"] == "full"


@pytest.mark.parametrize(
    "method, path",
    [
        ("GET", "/_quern"),
        ("GET", "/_quern/"),
        ("GET", "/_quern/nothing"),
        ("GET", "/_quern/queues/a/b/c"),
        ("POST", "/_quern/rules/x"),
        ("POST", "/_quern/rules//release"),
        ("GET", "/_aws/anything"),
        ("GET", "/_localstack/x"),
    ],
)
def test_unknown_page_is_404(server, method, path):
    status, answer = server.control(method, path, {} if method == "POST" else None)
    assert status == 404 and answer["error"]


@pytest.mark.parametrize(
    "method, path", [("DELETE", "/_quern/clock"), ("GET", "/_quern/reset"), ("PUT", "/_quern/rules")]
)
def test_wrong_method_is_405(server, method, path):
    status, answer = server.control(method, path)
    assert status == 405 and answer["error"]


@pytest.mark.parametrize("body", ["{", "[]", "7", '"text"', "{]"])
@pytest.mark.parametrize("path", ["/_quern/clock", "/_quern/reset", "/_quern/rules", "/_quern/mark"])
def test_body_that_is_no_object_is_400(server, path, body):
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("POST", path, body)
    answer = connection.getresponse()
    assert answer.status == 400 and b"error" in answer.read()
    connection.close()


def test_control_calls_draw_no_ids(start):
    """Whether somebody looks does not change what clients see."""
    ids = []
    for looks in (0, 5):
        server = start()
        for _ in range(looks):
            server.control("GET", "/_quern/queues")
        from exchange import client

        connection = client.Client(server)
        url = connection.call("json", "CreateQueue", {"QueueName": "q"}).members["QueueUrl"]
        sent = connection.call("json", "SendMessage", {"QueueUrl": url, "MessageBody": "x"})
        ids.append(sent.members["MessageId"])
        connection.close()
    assert ids[0] == ids[1]


def test_same_origin_may_ask(server):
    from raw import Raw

    with Raw(server) as raw:
        raw.send(raw.head("GET", "/_quern/health", headers=[("Origin", server.endpoint)]))
        reply = raw.read()
    assert reply.status == 200
    assert reply.header("Access-Control-Allow-Origin") is None


@pytest.mark.parametrize(
    "method, path, body, instead",
    [
        ("POST", "/reset", {"queu": "q"}, "it can have queue"),
        ("POST", "/reset?queue=q", {}, "it knows: account region"),
        ("POST", "/clock", {"advance": 5}, "it can have advance_ms"),
        ("POST", "/clock", {"advance_ms": 5, "keep_poll": True}, "it can have keep_polls"),
        ("POST", "/clock", {"advance_ms": 5, "keep_polls": 1}, "true or false"),
        ("POST", "/rules", {"rule": "on any do hang", "nmae": "x"}, "nmae is no member"),
        ("POST", "/mark", {"name": ""}, "say which mark"),
        ("DELETE", "/rules?nam=first", None, "it knows: name"),
        ("GET", "/queues/q/messages?limti=3", None, "it knows: account region after limit"),
        ("GET", "/queues?account=000000000000", None, "it knows: none"),
        ("GET", "/trace?form=3", None, "it knows: since wait_ms stream"),
    ],
)
def test_slip_in_a_name_changes_nothing(start, method, path, body, instead):
    """Left out, these would mean everything instead of one thing."""
    server = start("--queue", "q", "--fault", "on any nth 99 do throttle as first")
    before = server.control("GET", "/_quern/clock")[1]
    status, answer = server.control(method, "/_quern" + path, body)
    assert status == 400 and instead in answer["error"]
    assert [queue["name"] for queue in server.control("GET", "/_quern/queues")[1]["queues"]] == ["q"]
    assert [rule["name"] for rule in server.control("GET", "/_quern/rules")[1]["rules"]] == ["first"]
    assert server.control("GET", "/_quern/clock")[1] == before
