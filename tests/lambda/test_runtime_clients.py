"""Unchanged functions, on the official runtime interface clients and with Powertools batch processing."""
import pytest
import runtime_clients

REPORT = "--report-batch-item-failures"
each_client = pytest.mark.parametrize("client", runtime_clients.CLIENTS)


def order(name, do="ok"):
    return {"name": name, "do": do}


def start(world, client, handler):
    world.start(REPORT, "--max-concurrency", "2", function=runtime_clients.CLIENTS[client](handler))


def done(world):
    return [one["done"] for one in world.seen()]


@each_client
def test_a_batch_that_is_done_is_deleted(world, client):
    world.queue()
    world.send(order("a"), order("b"), order("c"))
    start(world, client, "handler")
    world.until(lambda: world.told())
    assert world.told()[0]["end"] == "returned" and world.told()[0]["failed"] == 0, world.told()
    assert sorted(done(world)) == ["a", "b", "c"] and world.counts() == (0, 0)


@each_client
def test_one_that_fails_comes_again_alone(world, client):
    world.queue()
    ids = world.send(order("a"), order("b", "fail-once"), order("c"))
    start(world, client, "handler")
    world.until(lambda: world.told())
    (told,) = world.told()
    assert (told["end"], told["records"], told["ids"]) == ("returned", 3, ids[1:2])
    assert sorted(done(world)) == ["a", "c"] and world.counts() == (0, 1)
    world.server.advance_ms(30500)
    world.until(lambda: len(world.told()) == 2)
    assert world.told()[1]["records"] == 1 and done(world)[2:] == ["b"] and world.counts() == (0, 0)


@each_client
def test_where_all_fail_the_function_throws_and_all_come_again(world, client):
    world.queue()
    world.send(order("a", "fail-once"), order("b", "fail-once"))
    start(world, client, "handler")
    world.until(lambda: world.told())
    (told,) = world.told()
    assert (told["end"], told["failed"]) == ("error", 2)
    assert told["why"].startswith("BatchProcessingError: " if client == "python" else "FullBatchFailureError: ")
    assert done(world) == [] and world.counts() == (0, 2)
    world.server.advance_ms(30500)
    world.until(lambda: world.counts() == (0, 0))
    assert sorted(done(world)) == ["a", "b"]


@each_client
@pytest.mark.parametrize("handler, first", [("fifo_handler", ["a0"]), ("group_handler", ["a0", "b0"])])
def test_on_a_fifo_queue_it_stops_at_the_first_failure(world, client, handler, first):
    world.queue("q.fifo")
    for name, do in (("a0", "ok"), ("a1", "fail-once"), ("a2", "ok")):
        world.send(order(name, do), group="a")
    world.send(order("b0"), group="b")
    start(world, client, handler)
    world.until(lambda: world.told())
    (told,) = world.told()
    assert (told["end"], told["records"], told["failed"]) == ("returned", 4, 4 - len(first))
    assert done(world) == first and world.counts()[0] == 0
    world.server.advance_ms(30500)
    world.until(lambda: world.counts() == (0, 0))
    assert [name for name in done(world) if name.startswith("a")] == ["a0", "a1", "a2"]
    assert sorted(done(world)) == ["a0", "a1", "a2", "b0"]


def test_a_handler_that_is_not_there_is_an_init_error(world):
    world.queue()
    world.send(order("a"))
    start(world, "python", "no_such_handler")
    world.until(lambda: world.told())
    assert world.told()[0]["why"].startswith("Runtime.HandlerNotFound: "), world.told()
    assert world.counts() == (0, 1)
