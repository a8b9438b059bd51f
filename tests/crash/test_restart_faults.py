"""What faults did to stored messages is journaled like what requests did: a restart right behind it
loses nothing and adds nothing."""
import pytest


def rule(store, text):
    status, answer = store.server.control("POST", "/_quern/rules", {"rule": text})
    assert status == 200, answer


@pytest.mark.parametrize("action, end_s", [("shorten-lease 5s", 5), ("extend-lease 5s", 35), ("expire-lease", 0)])
def test_a_lease_ends_when_a_fault_said(store, action, end_s):
    url = store.queue("q", VisibilityTimeout=30)
    rule(store, "on lease.grant once do " + action)
    store.send(url, "m")
    store.receive(url)
    store.restart()
    url = store.url("q")
    if end_s > 0:
        store.advance_ms(end_s * 1000 - 1)
        assert store.counts(url) == (0, 1, 0)
        store.advance_ms(1)
    assert store.counts(url) == (1, 0, 0)
    (message,) = store.receive(url)
    store.delete(url, message)
    assert store.counts(url) == (0, 0, 0)
