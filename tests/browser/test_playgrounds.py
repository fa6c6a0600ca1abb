"""The playgrounds in Chromium, from a plain static server, with every other name out of reach.

The server forbids its pages every other host; what they or their workers ask of one is refused, and told to it.
"""

from __future__ import annotations

import functools
import json
import threading
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from rmqlab.errors import BadInput
from rmqlab_tools.show.link import Link, digest
from tests.browser.conftest import browser, program
from tests.proof.site.playgrounds import assemble, redirect

READY_S = 120
CUT = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
ONLY_US = "default-src 'self' 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval' blob: data:; report-uri /refused"


class _Files(SimpleHTTPRequestHandler):
    """A folder's files; hears what a page was refused."""

    refused: list[str] = []  # noqa: RUF012 - of the one server there is

    def end_headers(self):
        self.send_header("Content-Security-Policy", ONLY_US)
        super().end_headers()

    def do_POST(self):
        self.refused.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(HTTPStatus.NO_CONTENT)
        self.end_headers()

    def log_message(self, *_):
        """Say nothing of each request."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of the pages: the folder served as any web server would."""
    folder = tmp_path_factory.mktemp("site")
    try:
        assemble(folder / "playgrounds")
        redirect(folder / "lab")
    except BadInput as error:
        pytest.skip(str(error))
    handler = functools.partial(_Files, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/playgrounds"
        server.shutdown()
    assert _Files.refused == []


# What a page moves by itself under the reader's eyes, and when it drew a state and when its Python ran.
WATCH = """window.moved = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.moved += entry.value;
}).observe({ type: 'layout-shift', buffered: true });
addEventListener('DOMContentLoaded', () => new MutationObserver(() => {
  const { drawn, ready } = document.body.dataset;
  if (drawn) window.drawnAt ??= performance.now();
  if (ready) window.readyAt ??= performance.now();
}).observe(document.body, { attributes: true }));"""
MOST_MOVED = 0.02
DRAWN_BEFORE_MS = 500  # Python needs seconds; a state that is drawn when it runs is no first state


@pytest.fixture(scope="module")
def page(site):
    """One browser for all pages; at the end none of them has complained in its console."""
    if program() is None:
        pytest.skip("no Chromium here; on Debian and Ubuntu: apt install chromium")
    with browser(1280, 1600, CUT) as one:
        one.call("Runtime.enable")
        one.call("Log.enable")
        one.call("Page.enable")
        one.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        one.call("Emulation.setFocusEmulationEnabled", enabled=True)
        yield one
        complaints = [
            (method, parameters)
            for method, parameters in one.events
            if method == "Runtime.exceptionThrown"
            or (method == "Log.entryAdded" and parameters["entry"]["level"] == "error")
            or (method == "Runtime.consoleAPICalled" and parameters["type"] in {"error", "warning"})
        ]
    assert complaints == []


def opened(page, address):
    """Go to a page, and wait until its Python runs; nothing of the page has moved meanwhile."""
    page.open(address)
    page.until("document.body?.dataset.ready === 'true'", f"{address} to be ready", READY_S)
    assert page.evaluate("window.moved ?? 0") < MOST_MOVED


def text(page, selector):
    return page.evaluate(f"document.querySelector({selector!r}).innerText")


def press_example(page, number):
    page.evaluate(f"document.querySelectorAll('#examples button')[{number}].click()")


def nothing_left_the_host(page, site):
    host = site.removesuffix("/playgrounds")
    asked = page.evaluate("performance.getEntriesByType('resource').map((one) => one.name)")
    assert asked
    assert [one for one in asked if not one.startswith((host, "blob:", "data:"))] == []


def fits(page):
    """No page scrolls sideways, on a phone or a projector."""
    for width in (400, 1024, 1280):
        page.resize(width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.resize(1280)


NAMELESS = """[...document.querySelectorAll('input, textarea, select, button, a[href], progress')].filter((one) =>
  one.offsetParent !== null && !one.getAttribute('aria-label') && !one.labels?.length && !one.textContent.trim()
  && !one.getAttribute('aria-labelledby')).map((one) => one.outerHTML)"""


def test_will_it_match_answers_while_one_types_and_keeps_all_in_the_link(page, site):
    opened(page, f"{site}/match.html")
    assert page.evaluate("readyAt - drawnAt") > DRAWN_BEFORE_MS
    assert text(page, "#said") == "It matches: the message arrives."
    page.evaluate("document.querySelector('#properties input:nth-child(2)').select()")
    page.type("2")
    page.until("document.querySelector('#said').innerText.startsWith('It does not')", "the new verdict")
    assert "The expression is false" in text(page, "ol.steps")
    assert page.evaluate("document.querySelector('#result svg desc').textContent").startswith("Read as (a > 3)")
    assert "rmqlab sql92 'a > 3' --set a=2" in text(page, "#result")
    page.evaluate("document.querySelector('#expression').select()")
    page.type('a > 3 AND b = "x"')
    page.until("document.querySelector('#said').innerText.includes('refuses')", "the refusal")
    assert page.evaluate("document.querySelector('#marked mark').innerText") == '"x"'
    fits(page)
    assert page.evaluate(NAMELESS) == []
    link = page.evaluate("location.href")
    saved = link.replace("/playgrounds/match.html", "/lab/match.html?lang=zh")  # the address that it had before
    opened(page, saved)
    assert page.evaluate("location.href") == saved.replace("/lab/", "/playgrounds/")
    assert page.evaluate("document.querySelector('#expression').value") == 'a > 3 AND b = "x"'
    assert "拒绝" in text(page, "#said")
    page.evaluate("document.querySelector('#expression').value = \"TAGS CONTAINS 'A'\"")
    page.evaluate("document.querySelector('#tag').value = 'tagA'")
    page.evaluate("document.querySelector('#version').value = '5.5.0'")
    page.evaluate("document.querySelector('#form').dispatchEvent(new Event('input'))")
    page.until("document.querySelector('#result').innerText.includes('--version 5.5.0')", "the answer of 5.5.0")
    assert "匹配" in text(page, "#said")
    press_example(page, -1 % 9)
    page.until("document.querySelector('#said').innerText.includes('客户端')", "the collision")
    page.evaluate("location.hash = 'cut-off'")
    page.until("document.querySelector('#said').innerText.includes('link')", "the refusal of a link that was cut off")
    nothing_left_the_host(page, site)


def test_my_group_shows_the_loss_and_the_ways_which_can_be_cancelled(page, site):
    opened(page, f"{site}/group.html")
    assert page.evaluate("readyAt - drawnAt") > DRAWN_BEFORE_MS
    page.until("!!document.querySelector('#run-result svg')", "the run")
    assert text(page, "#said") == "Inconsistent: the members want different messages."
    assert text(page, "#run-said").startswith("6 of 8 messages are lost")
    fits(page)
    assert page.evaluate(NAMELESS) == []
    press_example(page, 1)
    page.until("document.querySelector('#said').innerText.startsWith('Consistent')", "the other verdict")
    page.until("document.querySelector('#run-said').innerText.startsWith('0 of')", "the other run")
    page.evaluate("document.querySelector('#plan').click()")
    page.until("!!document.querySelector('#plan-result td')", "the first way", READY_S)
    page.evaluate("document.querySelector('#cancel').click()")
    page.until("document.querySelector('#plan-said').innerText === 'Cancelled.'", "the end")
    assert page.evaluate("document.activeElement.id") == "plan"
    page.evaluate("document.querySelector('#members .remove').click()")
    page.until("!document.querySelector('#result pre').innerText.includes('A:')", "a member less")
    nothing_left_the_host(page, site)


VERDICT = "document.getElementById('verdict').textContent"
DIGEST = "document.getElementById('digest').textContent"
FRAGMENT = "location.hash.slice(1)"
EIGHT = "aa5d6d1770323e4b"  # the events of the eight messages


@pytest.fixture
def eight(page, site):
    """The page "the loss" at its beginning: the eight messages."""
    if "/loss.html" not in page.evaluate("location.href"):
        opened(page, f"{site}/loss.html")
    page.evaluate("document.getElementById('digest').textContent = ''")  # it may show them already: wait for new ones
    page.evaluate("document.querySelector('[data-example=loss]').click()")
    waits_for(page, DIGEST, EIGHT)
    return page


FILM = "document.getElementById('film')"


def waits_for(page, script, value):
    page.until(f"({script}) === {json.dumps(value)}", f"{script} to be {value!r}", READY_S)


def test_the_loss_is_there_at_once_and_a_key_changes_it(page, site):
    opened(page, f"{site}/loss.html")
    assert page.evaluate("readyAt - drawnAt") > DRAWN_BEFORE_MS
    waits_for(page, VERDICT, "6 of 8 messages are lost, 2 arrive.")
    assert page.evaluate(f"{FILM}.shadowRoot.querySelectorAll('.token').length") == 8
    assert page.evaluate(f"{FILM}.now") == 41
    page.evaluate("document.querySelector('.actor.sends input[type=range]').focus()")
    page.press("Home")
    waits_for(page, VERDICT, "4 of 8 messages are lost, 4 arrive.")
    before = page.evaluate(FRAGMENT)
    page.evaluate("document.querySelector('#version').value = '5.5.0'")
    page.evaluate("document.querySelector('#version').dispatchEvent(new Event('change'))")
    page.until(f"{FRAGMENT} !== {json.dumps(before)}", "the link of the other version")
    assert Link.read(page.evaluate(FRAGMENT)).version == "5.5.0"
    page.evaluate("document.querySelector('[data-example=same]').click()")
    waits_for(page, VERDICT, "No message is lost. 8 of 8 arrive.")
    assert page.evaluate("document.querySelector('#version').value") == "4.8.0"


def test_the_film_keeps_its_step_in_the_link_and_a_message_tells_its_way(eight, site):
    page = eight
    page.evaluate(f"{FILM}.shadowRoot.querySelector('.film').focus()")
    for step, key in enumerate(("Home", "ArrowRight")):
        before = page.evaluate(FRAGMENT)
        page.press(key)
        page.until(f"{FRAGMENT} !== {json.dumps(before)}", f"the link to step {step}")
    assert Link.read(page.evaluate(FRAGMENT)).step == 1
    page.press("End")
    page.evaluate(f"{FILM}.shadowRoot.querySelectorAll('.token')[4].click()")
    way = page.evaluate(f"[...{FILM}.shadowRoot.querySelectorAll('.way li')].map((item) => item.textContent)")
    assert len(way) == 3
    assert "drops MsgStr4 (tagB) itself: it asks for tagA" in way[2]


def test_a_link_opens_to_the_same_bytes_in_the_page_and_here(eight, site):
    page = eight
    page.evaluate("document.querySelector('.actor input').focus()")
    page.type("Z")  # the client's id becomes ZA or AZ: another order of ids, another owner of each queue
    page.until(f"{VERDICT} && document.getElementById('address').textContent.includes({FRAGMENT})", "the new link")
    page.until("document.querySelector('#grids svg desc').textContent.includes('Z')", "the new picture")
    fragment, name = page.evaluate(FRAGMENT), page.evaluate(DIGEST)
    assert digest(Link.read(fragment).run()) == name
    opened(page, f"{site}/loss.html?again#{fragment}")
    waits_for(page, DIGEST, name)
    assert "Z" in page.evaluate("document.querySelector('.actor input[title=\"Client id\"]').value")


def test_every_order_is_searched_and_one_of_them_replayed(eight):
    page = eight
    page.evaluate("document.getElementById('budget').value = '60'")
    page.evaluate("document.getElementById('explore').click()")
    page.until("!document.getElementById('outcomes').hidden", "the outcomes", READY_S)
    count = page.evaluate("document.querySelectorAll('#outcomes tbody tr').length")
    assert count > 4
    usual = page.evaluate(DIGEST)
    page.evaluate("[...document.querySelectorAll('#outcomes button')].at(-1).click()")
    page.until(f"{DIGEST} !== {json.dumps(usual)}", "another order", READY_S)
    assert page.evaluate("document.getElementById('order').textContent").startswith(f"You see outcome {count}")
    link = Link.read(page.evaluate(FRAGMENT))
    assert link.schedule.taken
    assert digest(link.run()) == page.evaluate(DIGEST)


def test_a_search_can_be_cancelled(eight):
    page = eight
    page.evaluate("document.getElementById('budget').value = '1000'")
    page.evaluate("document.getElementById('explore').click()")
    page.evaluate("document.getElementById('cancel').click()")
    page.until("document.getElementById('explored').textContent === 'Cancelled.'", "the end of the search")
    assert page.evaluate("!document.getElementById('explore').disabled")


def test_a_damaged_link_is_told_and_the_eight_messages_come_instead(eight):
    page = eight
    page.evaluate("location.hash = 'eNqdkU1PwzAM'")
    page.until("document.getElementById('problem').textContent.includes('its end is missing')", "the complaint")
    waits_for(page, DIGEST, EIGHT)


def test_the_page_in_chinese_fits_a_phone_and_a_projector(page, site):
    opened(page, f"{site}/loss.html?lang=zh")
    waits_for(page, VERDICT, "8 条消息丢了 6 条，送达 2 条。")
    assert page.evaluate("document.documentElement.lang") == "zh-CN"
    fits(page)
    assert page.evaluate(NAMELESS) == []
    nothing_left_the_host(page, site)
