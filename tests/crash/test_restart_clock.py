"""Time never runs backwards on a file, and chance never repeats itself."""
from durable import START_MS


def test_a_later_instant_is_taken(store):
    url = store.queue("q", VisibilityTimeout=30)
    store.send(url, "m")
    store.receive(url)
    store.restart(pause_ms=10_000_000)
    assert store.clock_ms() == START_MS + 10_000_000
    assert store.bodies(store.url("q")) == ["m"]


def test_an_earlier_instant_is_not_taken(store):
    url = store.queue("q", VisibilityTimeout=30)
    store.advance_s(1000)
    store.send(url, "m")
    store.receive(url)
    store.restart(clock="virtual=%d" % (START_MS - 5000))
    assert store.clock_ms() == START_MS + 1_000_000
    url = store.url("q")
    store.send(url, "later")
    (later,) = store.receive(url)
    assert later["Attributes"]["SentTimestamp"] == str(START_MS + 1_000_000)
    store.advance_ms(29_999)
    assert store.counts(url) == (0, 2, 0)
    store.advance_ms(1)
    assert store.counts(url) == (2, 0, 0)


def test_the_clock_goes_on_where_clients_have_seen_it_even_when_nothing_changed(store):
    store.queue("q")
    store.advance_s(3600)
    assert store.clock_ms() == START_MS + 3_600_000
    store.restart(clock="virtual=%d" % START_MS)
    assert store.clock_ms() == START_MS + 3_600_000


def test_times_of_several_lives_only_rise(store):
    url = store.queue("q", VisibilityTimeout=1000)
    for life in range(4):
        store.send(url, str(life))
        store.advance_ms(700)
        store.restart(clock="virtual=%d" % (START_MS - life * 1_000_000))
        url = store.url("q")
    sent = [int(m["Attributes"]["SentTimestamp"]) for m in store.receive(url)]
    assert sent == [START_MS + 700 * life for life in range(4)]


def test_the_real_clock_does_not_fall_behind_a_virtual_one_before(store):
    url = store.queue("q")
    store.advance_ms(100 * 365 * 86_400_000)
    store.send(url, "m")
    store.restart(clock="real")
    assert store.clock_ms() >= store.now_ms
    assert store.counts(store.url("q")) == (1, 0, 0)


def _draws(store, queue, collected):
    """What a client sees that was drawn by chance: ids of requests, messages, tasks; handles."""
    url = store.url(queue)
    for n in range(5):
        collected.append(store.send(url, "m%d" % n)["MessageId"])
    for message in store.receive(url, 5, VisibilityTimeout=0):
        collected.append(message["ReceiptHandle"])
    collected += store.connection.request_ids


def test_the_same_seed_draws_nothing_twice(store):
    collected = []
    store.queue("q")
    for _ in range(4):
        _draws(store, "q", collected)
        store.restart()
    for _ in range(3):  # lives in which nothing is written draw too
        store.call("ListQueues")
        collected += store.connection.request_ids
        store.restart()
    _draws(store, "q", collected)
    assert len(collected) > 80 and len(set(collected)) == len(collected)


def test_the_same_seed_on_another_file_draws_the_same(store, tmp_path):
    first = []
    store.queue("q")
    _draws(store, "q", first)
    store.end()
    for file in store.folder.iterdir():
        file.unlink()
    second = []
    store.start()
    store.queue("q")
    _draws(store, "q", second)
    assert second == first
