"""Every fault that the server carries out, at each of its points and in both protocols, over a socket.

The rows are in faults_*.py; fault_rows.py says how they are written. An action without a row, or a point without one, fails.
"""
import pytest
from exchange import process
from fault_rows import POINTS, PROTOCOLS, Scene, carried, read_rows

CARRIED = carried()
ROWS = read_rows()
CASES = [(row, point) for row in ROWS for point in row.points or (None,)]
ACCEPTED = {(row.word, point) for row, point in CASES}
IMPOSSIBLE = sorted({(row, point) for row in ROWS for point in POINTS if "{point}" in row.rule
                     and (row.word, point) not in ACCEPTED}, key=str)


@pytest.fixture(scope="module")
def idle():
    """A server that only reads rules."""
    server = process.Server()
    yield server
    server.stop()


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("row, point", CASES, ids=lambda value: str(value))
def test_fault(row, point, protocol):
    scene = Scene(row, point, protocol)
    try:
        row.function(scene)
        scene.check()
    finally:
        scene.close()


@pytest.mark.parametrize("row, point", IMPOSSIBLE, ids=lambda value: str(value))
def test_a_point_without_a_row_is_refused(idle, row, point):
    status, answer = idle.control("POST", "/_quern/rules", {"rule": row.rule.format(point=point)})
    assert status == 400, "%s at %s is accepted and has no row" % (row.word, point)
    assert "line 1, column " in answer["error"]


def test_every_action_of_the_server_has_a_row():
    assert {row.word for row in ROWS} == set(CARRIED)


def test_every_point_of_an_action_has_a_row():
    """But for those at which the server refuses the rule, which the test above sees to."""
    refused = {(row.word, point) for row, point in IMPOSSIBLE}
    wanted = {(word, point) for word, points in CARRIED.items() for point in points}
    without = {word for word, _ in wanted} - {row.word for row in ROWS if "{point}" in row.rule}
    assert {(word, point) for word, point in wanted - ACCEPTED - refused if word not in without} == set()


def test_an_action_whose_rows_name_no_point_is_refused_at_all_of_them(idle):
    for word in {row.word for row in ROWS} - {row.word for row in ROWS if "{point}" in row.rule}:
        for point in POINTS:
            rule = "on SendMessage at %s do %s" % (point, word)
            assert idle.control("POST", "/_quern/rules", {"rule": rule})[0] == 400, rule
