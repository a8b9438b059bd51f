"""The HTML report in a browser: every lane drawn, nothing on top of anything, usable by keyboard,
readable without colours, and in need of nothing but itself."""
import io
import json
import re

import pytest
from commands import run
from PIL import Image, ImageChops
from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys
from traces_made import Trace

NODES_MAX = 12000
# Draws every kind of mark that a picture has.
SHAPES = ["commit", "replay", "abort", "delete", "unmade", "early", "dead", "reject", "extend", "release", "lapse",
          "again", "fault", "start", "ready", "exit"]
NASTY = "<script>document.title='taken'</script><b>&\"'"


def everything():
    """A failed FIFO-like scenario of four instances, in which everything happens."""
    trace = Trace(step_ms=20, must=("ONCE", "NO-LOSS"), concurrency=2, prefetch=3,
                  faults=[{"name": "crash", "rule": "on x do kill instance as crash", "planned": 1}])
    trace.lines[0]["scenario"]["id"] = "std.everything"
    trace.add("boot", lsn=0, count=1)
    for number in (2, 3, 4):
        trace.proc("spawn", instance=f"QUERN000{number}", pid=10 + number)
        trace.proc("ready", instance=f"QUERN000{number}", pid=10 + number)
    for i in range(8):
        now_ms = trace.now_ms()
        trace.send(f"k-00{i}", grp="A" if i < 4 else "B", sn=str(i), **({"deadline": now_ms + 2000} if i == 7 else {}))
    for number in (1, 2, 3, 4):
        who = f"QUERN000{number}"
        trace.add("api.in", action="ReceiveMessage", instance=who, queue="q", req=f"r{number}")
        trace.log("line of " + NASTY, instance=who)
        trace.work(f"k-00{number}", instance=who)
        trace.add("api.out", action="ReceiveMessage", instance=who, queue="q", code="OK", req=f"r{number}")
    trace.state("msg.dupcopy", mid="id-k-001", k="k-001")
    trace.work("k-001")
    trace.lease("k-000")
    trace.begin("k-000")
    trace.add("work.abort", k="k-000", run=trace.runs, reason="503", instance="QUERN0001")
    trace.add("fault", rule="crash", k="k-000", reason="kill instance", instance="QUERN0001")
    trace.add("fault", rule="lost", k="k-000", reason="fake-success", instance="QUERN0001")
    for code in ("ThrottlingException", "ThrottlingException", "OK"):
        trace.add("api.in", action="ReceiveMessage", instance="QUERN0002", queue="q", req="f")
        trace.add("api.out", action="ReceiveMessage", instance="QUERN0002", queue="q", code=code, req="f")
    trace.proc("signal", pid=10, signal=9)
    trace.proc("exit", pid=10, signal=9)
    trace.jump(3000)
    for line in range(2):
        trace.proc("spawn" if line == 0 else "ready", pid=20)
    trace.state("lease.expire", mid="id-k-000", k="k-000", reason="timeout")
    trace.lease("k-000", instance="QUERN0002")
    trace.state("lease.extend", mid="id-k-000", k="k-000", instance="QUERN0002")
    trace.begin("k-000", instance="QUERN0002")
    trace.commit("k-000", instance="QUERN0002")
    trace.begin("k-000", instance="QUERN0002")
    trace.commit("k-000", instance="QUERN0002", replayed=True)
    trace.delete("k-000", instance="QUERN0002")
    trace.lease("k-005")
    trace.state("lease.release", mid="id-k-005", k="k-005", instance="QUERN0001")
    trace.lease("k-005")
    trace.delete("k-005")  # early
    trace.lease("k-006")
    trace.add("reject", k="k-006", instance="QUERN0001")
    trace.delete("k-006")
    trace.state("msg.dlq", mid="id-k-007", k="k-007")
    trace.add("letter", queue="q-dlq", mid="id-k-007", n=5, reason=NASTY + "x" * 100)
    return trace.end()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("html")
    traces = [everything().write(folder / "everything.jsonl")]
    for name in ("base.fine", "fifo.fine"):
        trace = Trace(scenario=name)
        trace.send("k-0")
        trace.work("k-0")
        traces.append(trace.end().write(folder / (name + ".jsonl")))
    answer = run("judge", "--html", str(folder / "report.html"), *map(str, traces))
    assert (answer.returncode, answer.stderr) == (1, "")
    return folder / "report.html"


@pytest.fixture
def opened(browser, report):
    requests = browser.open(report)
    browser.ask("() => document.querySelectorAll('details').forEach(e => { e.open = true })")
    return browser, requests


def test_the_file_needs_nothing_but_itself(opened, report):
    browser, requests = opened
    assert [url for url in requests if not url.startswith("data:")] == [report.as_uri()]
    assert browser.complaints() == []
    assert not re.search(r"https?://|<script|@import|<iframe| on\w+=", report.read_text())


def test_texts_of_the_consumer_stay_texts(opened):
    browser, _ = opened
    assert browser.driver.title.startswith("quern check")
    said = browser.ask("() => [...document.querySelectorAll('.said')].map(e => e.textContent)")
    assert any(NASTY in text for text in said)


def test_every_lane_is_drawn(opened):
    browser, _ = opened
    names = browser.ask("() => [...document.querySelector('#s1 svg.picture').querySelectorAll('.lane')]"
                        ".map(e => e.dataset.name)")
    assert names[:2] == ["faults", "server"]
    assert names[2:6] == [f"instance #{n}" for n in (1, 2, 3, 4)]
    assert [name.split(" (")[0] for name in names[6:13]] == [
        "#1 open polls", "#2 open polls", "#3 open polls", "#4 open polls", "leases held", "waiting", "oldest"]
    assert names[13] == "A / k-001"  # the witness comes first
    assert sorted(names[14:]) == ["A / k-000", "A / k-002", "A / k-003"] + [f"B / k-00{i}" for i in (4, 5, 6, 7)]


def test_every_kind_of_mark_is_drawn_and_explained(opened):
    browser, _ = opened
    for place in ("#s1 svg.picture", "#legend"):
        drawn = browser.ask("place => [...document.querySelector(place).querySelectorAll('use')]"
                            ".map(e => e.getAttribute('href').slice(3))", place)
        assert set(drawn) == set(SHAPES), place
    sizes = browser.ask("() => [...document.querySelectorAll('#s1 svg.picture use')]"
                        ".map(e => e.getBoundingClientRect()).map(b => Math.max(b.width, b.height))")
    assert min(sizes) > 2
    for kind in ("rect.lease.i1", "rect.lease.i2", "rect.lease.i3", "rect.lease.i4", "rect.work", "rect.wait",
                 "rect.delayed", "rect.lapsed", "rect.life", "rect.jump", "line.across.kill", "rect.zone", "line.limit"):
        assert browser.ask("kind => document.querySelectorAll('#s1 svg.picture ' + kind).length", kind) > 0, kind


def test_a_lease_that_lapsed_has_a_hatched_end_and_a_delay_its_own_bar(opened):
    browser, _ = opened
    places = browser.ask("""() => Object.fromEntries([...document.querySelectorAll('#s1 svg.picture .lane.message')]
        .map(lane => [lane.dataset.name, [...lane.querySelectorAll('rect')].map(e => {
            const style = getComputedStyle(e);
            return [e.getAttribute('class'), +e.getAttribute('x'), +e.getAttribute('x') + +e.getAttribute('width'),
                    style.fill, style.strokeDasharray]})]))""")
    lapsed = [one for one in places["A / k-000"] if one[0] == "lapsed"]
    lease = min((one for one in places["A / k-000"] if one[0].startswith("lease")), key=lambda one: one[1])
    assert len(lapsed) == 1 and abs(lapsed[0][2] - lease[2]) < 0.2 and lapsed[0][1] >= lease[1]
    assert "#pl" in lapsed[0][3] and 'id="pl"' in browser.driver.page_source
    delayed = [one for one in places["B / k-007"] if one[0] == "delayed"]
    wait = [one for one in places["B / k-007"] if one[0] == "wait"]
    assert len(delayed) == 1 and abs(delayed[0][1] - wait[0][1]) < 0.2 and delayed[0][4] != "none"
    assert [name for name, bars in places.items() for one in bars if one[0] == "delayed"] == ["B / k-007"]


BOXES = """selector => [...document.querySelectorAll(selector)].map(e => {
    const b = e.getBoundingClientRect();
    return {what: e.textContent.trim().slice(0, 30), left: b.left, top: b.top, right: b.right, bottom: b.bottom}})"""


def overlaps(boxes, others):
    return [(a["what"], b["what"]) for i, a in enumerate(boxes) for b in others[i + 1 if boxes is others else 0:]
            if a["left"] < b["right"] - 1 and b["left"] < a["right"] - 1
            and a["top"] < b["bottom"] - 1 and b["top"] < a["bottom"] - 1]


@pytest.mark.parametrize("width", [1280, 700])
def test_nothing_stands_on_a_text(browser, report, width):
    browser.open(report, width=width)
    for scenario in ("#s1", "#s2"):
        browser.ask("() => document.querySelectorAll('details').forEach(e => { e.open = true })")
        picture = scenario + " svg.picture "
        texts = browser.ask(BOXES, picture + "text")
        assert len(texts) > 20
        assert overlaps(texts, texts) == []
        names = browser.ask(BOXES, picture + "text.name")
        drawn = browser.ask(BOXES, picture + "use, " + picture + "rect:not(.frame), " + picture + ".tick text")
        assert overlaps(names, drawn) == []


@pytest.mark.parametrize("width", [1280, 700, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_leaves_the_page(browser, report, width, scheme):
    browser.open(report, width=width, scheme=scheme)
    browser.ask("() => document.querySelectorAll('details').forEach(e => { e.open = true })")
    assert browser.ask("() => document.documentElement.scrollWidth") <= width
    outside = browser.ask("""() => [...document.querySelectorAll('svg.picture')].flatMap(svg => {
        const s = svg.getBoundingClientRect();
        return [...svg.querySelectorAll('text, use, rect, line, path')].filter(e => {
            const b = e.getBoundingClientRect();
            return b.left < s.left - 1 || b.right > s.right + 1 || b.top < s.top - 1 || b.bottom > s.bottom + 1
        }).map(e => e.outerHTML.slice(0, 90))})""")
    assert outside == []


CONTRAST = """() => {
    const rgb = text => text.match(/[\\d.]+/g).map(Number);
    const light = c => { const [r, g, b] = c.slice(0, 3).map(v => v / 255).map(
        v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b };
    const ground = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor);
        if (c.length < 4 || c[3] > 0) return c } return [255, 255, 255] };
    return [...document.querySelectorAll('p, th, td, a, code, h1, h2, h3, dt, dd, .badge, li')].filter(
        e => e.textContent.trim()).map(e => { const a = light(rgb(getComputedStyle(e).color)), b = light(ground(e));
        return [(Math.max(a, b) + .05) / (Math.min(a, b) + .05), e.tagName + '.' + e.className] })
        .filter(([ratio]) => ratio < 4.5) }"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out_from_their_ground(browser, report, scheme):
    browser.open(report, scheme=scheme)
    assert browser.ask(CONTRAST) == []
    light = browser.ask("() => getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert light == (scheme == "light")


def test_no_verdict_rests_on_colour(opened):
    browser, _ = opened
    badges = browser.ask("() => [...document.querySelectorAll('.badge')].map(e => [e.className.split(' ')[1], "
                         "e.children[0].textContent, e.textContent.trim()])")
    symbols = {}
    for css_class, symbol, text in badges:
        assert re.search(r"\w{4}", text), text
        symbols.setdefault(css_class, symbol)
        assert symbols[css_class] == symbol
    assert len(set(symbols.values())) == len(symbols) >= 3
    fills = browser.ask("() => [1, 2, 3, 4].map(i => getComputedStyle(document.querySelector("
                        "'#s1 rect.lease.i' + i)).fill)")
    assert [fill.split('"')[1] if "url" in fill else "plain" for fill in fills] == ["plain", "#p2", "#p3", "#p4"]


def test_tab_walks_through_everything_in_order(browser, report):
    browser.open(report)
    expected = browser.ask("() => [...document.querySelectorAll('a[href], summary, [tabindex]')].filter("
                           "e => e.checkVisibility()).length")
    seen = []
    for _ in range(expected):
        ActionChains(browser.driver).send_keys(Keys.TAB).perform()
        seen.append(browser.ask("""() => { const e = document.activeElement, b = e.getBoundingClientRect();
            return {index: [...document.querySelectorAll('*')].indexOf(e), tag: e.tagName,
                    outline: getComputedStyle(e).outlineStyle + ' ' + getComputedStyle(e).outlineWidth,
                    seen: b.bottom > 0 && b.top < innerHeight && b.width > 0}}"""))
    indexes = [stop["index"] for stop in seen]
    assert indexes == sorted(indexes) and len(set(indexes)) == expected > 20
    assert {stop["outline"] for stop in seen} == {"solid 3px"}
    assert all(stop["seen"] for stop in seen)
    assert seen[0]["tag"] == "A"


def test_a_witness_is_a_link_to_its_event(browser, report):
    browser.open(report)
    link = browser.driver.find_element("css selector", "#s1 .invariants a")
    target = link.get_attribute("href").split("#")[1]
    link.send_keys(Keys.ENTER)
    row = browser.driver.find_element("id", target)
    assert "witness" in row.get_attribute("class") and "effect k-001" in row.text
    place = browser.ask("e => { const b = e.getBoundingClientRect(); return [b.top, b.bottom, innerHeight] }", row)
    assert -1 < place[0] < place[1] < place[2] + 1, place


def test_every_link_leads_somewhere(opened):
    browser, _ = opened
    assert browser.ask("() => [...document.querySelectorAll('a')].map(e => e.getAttribute('href')).filter("
                       "h => !h.startsWith('#') || !document.getElementById(h.slice(1)))") == []
    assert browser.ask("() => { const ids = [...document.querySelectorAll('[id]')].map(e => e.id); "
                       "return ids.length - new Set(ids).size }") == 0


def test_a_closed_scenario_opens_by_keyboard(browser, report):
    browser.open(report)
    summary = browser.driver.find_element("css selector", "#s2 summary")
    assert not browser.ask("() => document.querySelector('#s2 svg.picture').checkVisibility()")
    summary.send_keys(Keys.ENTER)
    assert browser.ask("() => document.querySelector('#s2 svg.picture').checkVisibility()")


def test_the_card_has_a_row_for_each_fact(opened):
    browser, _ = opened
    rows = browser.ask("() => [...document.querySelectorAll('table.card tbody tr')].map(r => "
                       "[...r.cells].map(c => c.textContent.trim()))")
    assert {row[1] for row in rows} >= {"lease", "stop", "long polling", "batch size", "attributes", "program"}
    assert all(row[0].split(" ", 1)[1] in ("fits", "advice", "does not fit") and row[2] for row in rows)


def test_groups_and_dead_letters_have_tables(opened):
    browser, _ = opened
    cells = "name => [...document.querySelectorAll('#s1 table.' + name + ' tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
    groups = {row[0]: row[1:] for row in browser.ask(cells, "groups")}
    assert (groups["A"][0], groups["A"][1], groups["A"][3]) == ("4", "4", "k-000") and "moves on" in groups["A"][6]
    ((key, mid, _, _, reason, body),) = browser.ask(cells, "letters")
    assert (key, mid, reason) == ("k-007", "id-k-007", "received 0 times") and body.startswith(NASTY)
    counted = browser.ask("() => document.querySelector('#s1 .counts').textContent")
    assert re.match(r"8 messages sent, \d deleted, \d effects applied$", counted), counted


def test_checklists_are_filled_in(opened):
    browser, _ = opened
    lists = browser.ask("() => [...document.querySelectorAll('table.checklist')].map(t => [...t.tBodies[0].rows]"
                        ".map(r => [r.cells[0].textContent.trim(), r.cells[1].textContent, r.cells[2].textContent]))")
    assert [len(rows) for rows in lists] == [17, 14, 12]
    before = {text: (result, where) for result, text, where in lists[0]}
    assert before["A message that comes twice has one effect"] == ("\u2717 broken", "std.everything")
    assert before["Polls are long, and an idle consumer costs little"][0] == "\u2013 not seen"
    assert any("from outside" in where for _, _, where in lists[2])


def test_a_run_without_a_verdict_checks_nothing_off(browser, tmp_path):
    trace = Trace(must=("NO-LOSS", "DRAINED"))
    trace.lines[2]["what"] = "spawn"  # never ready
    trace.send("k-0")
    trace.add("mark", reason="end", queue="q", visible=1, in_flight=0, delayed=0)
    trace.write(tmp_path / "t.jsonl")
    assert run("judge", "--html", str(tmp_path / "r.html"), str(tmp_path / "t.jsonl")).returncode == 3
    browser.open(tmp_path / "r.html")
    results = browser.ask("() => [...document.querySelectorAll('.checklist .badge')].map(e => e.textContent.trim())")
    assert set(results) == {"? open", "\u2013 not seen"}
    assert "1 of 1 scenarios gave no verdict" in browser.ask("() => document.body.textContent")


def test_it_prints(browser, report):
    browser.open(report)
    pdf = browser.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": False})["data"]
    assert len(pdf) > 20000
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert browser.ask("() => getComputedStyle(document.querySelector('nav')).display") == "none"
        assert browser.ask("() => getComputedStyle(document.querySelector('.scroll')).overflowX") == "visible"
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


INKED = """show => document.querySelectorAll('#s1 svg.picture .lane > :not(.frame):not(.name)').forEach(
    e => { e.style.visibility = show ? '' : 'hidden' })"""
LANES = """() => { const top = document.querySelector('#s1 svg.picture').getBoundingClientRect().top;
    return [...document.querySelectorAll('#s1 svg.picture .lane')].map(e => {
        const b = e.querySelector('.frame').getBoundingClientRect();
        return [e.dataset.name, b.top - top, b.bottom - top] }) }"""


def test_a_picture_of_each_lane_is_not_blank(opened):
    """Taken as an image: in each lane of the failed scenario something is drawn. What goes across all of them stays."""
    browser, _ = opened
    svg = browser.driver.find_element("css selector", "#s1 svg.picture")

    def shot():
        return Image.open(io.BytesIO(svg.screenshot_as_png)).convert("RGB")

    with_ink = shot()
    browser.ask(INKED, False)
    try:
        drawn = ImageChops.difference(with_ink, shot()).convert("L").point(lambda value: 255 if value > 24 else 0)
    finally:
        browser.ask(INKED, True)
    lanes = browser.ask(LANES)
    pixels = {name: drawn.crop((0, round(top) + 1, drawn.width, round(bottom) - 1)).histogram()[255]
              for name, top, bottom in lanes}
    assert len(pixels) == 21
    assert {name: count for name, count in pixels.items() if count < 20} == {}
    # An image in which a lane is empty is told apart.
    assert drawn.crop((0, 0, drawn.width, round(lanes[0][1]))).histogram()[255] == 0
    empty = browser.ask("() => [...document.querySelectorAll('#s1 .lane')].filter(e => "
                        "e.querySelectorAll('use, rect:not(.frame), path').length == 0).map(e => e.dataset.name)")
    assert empty == []


def test_five_thousand_events_are_drawn_within_bounds(browser, tmp_path):
    trace = Trace(step_ms=5)
    for i in range(700):
        trace.send(f"k-{i:04}")
    for i in range(700):
        trace.work(f"k-{i:04}")
    trace.work("k-0003")
    while len(trace.lines) < 5000:
        trace.log("a line")
    trace.end().write(tmp_path / "long.jsonl")
    assert len(trace.lines) > 5000
    assert run("judge", "--html", str(tmp_path / "r.html"), str(tmp_path / "long.jsonl")).returncode == 1
    browser.open(tmp_path / "r.html")
    assert browser.ask("() => document.querySelectorAll('*').length") < NODES_MAX
    assert (tmp_path / "r.html").stat().st_size < 2_000_000
    text = browser.ask("() => document.querySelector('#s1').textContent")
    assert "60 of 700 messages are drawn" in text
    assert "events are left out here" in text
    names = browser.ask("() => [...document.querySelectorAll('#s1 .lane.witness')].map(e => e.dataset.name)")
    assert names == ["k-0003"]
    for link in browser.driver.find_elements("css selector", "#s1 .invariants a"):
        assert browser.driver.find_elements("id", link.get_attribute("href").split("#")[1])
    assert json.dumps(browser.complaints()) == "[]"


def test_one_message_with_thousands_of_events_is_bounded_too(browser, tmp_path):
    trace = Trace(step_ms=2)
    trace.send("k-0")
    for _ in range(1200):
        trace.lease("k-0")
        trace.begin("k-0")
        trace.add("work.abort", k="k-0", run=trace.runs, reason="503", instance="QUERN0001")
        trace.state("lease.release", mid="id-k-0", k="k-0", instance="QUERN0001")
    trace.end().write(tmp_path / "hot.jsonl")
    run("judge", "--html", str(tmp_path / "r.html"), str(tmp_path / "hot.jsonl"))
    browser.open(tmp_path / "r.html")
    assert browser.ask("() => document.querySelectorAll('*').length") < NODES_MAX
    assert re.search(r"\d+ marks are left out", browser.ask("() => document.body.textContent"))
