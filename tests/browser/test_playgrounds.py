"""The pages of the lab in Chromium, from a plain static server, with every other name out of reach."""

from __future__ import annotations

import functools
import http.server
import threading

import pytest

from rmqlab.errors import BadInput
from tests.browser.conftest import browser, program
from tests.proof.site.playgrounds import assemble

CUT = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Say nothing of each request."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of the pages: the folder served as any web server would."""
    folder = tmp_path_factory.mktemp("site")
    try:
        assemble(folder / "lab")
    except BadInput as error:
        pytest.skip(str(error))
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/lab"
        server.shutdown()


@pytest.fixture(scope="module")
def page():
    """One browser for all pages."""
    if program() is None:
        pytest.skip("no Chromium here; on Debian and Ubuntu: apt install chromium")
    with browser(1280, 1600, CUT) as one:
        yield one


def opened(page, address):
    """Go to a page, and wait until its Python has answered."""
    page.open(address)
    page.until("document.body?.dataset.ready === 'true'", f"{address} to be ready", 90)


def text(page, selector):
    return page.evaluate(f"document.querySelector({selector!r}).innerText")


def press_example(page, number):
    page.evaluate(f"document.querySelectorAll('#examples button')[{number}].click()")


def nothing_left_the_host(page, site):
    host = site.removesuffix("/lab")
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
    opened(page, link.replace("match.html", "match.html?lang=zh"))
    assert page.evaluate("document.querySelector('#expression').value") == 'a > 3 AND b = "x"'
    assert "拒绝" in text(page, "#said")
    press_example(page, -1 % 9)
    page.until("document.querySelector('#said').innerText.includes('客户端')", "the collision")
    page.evaluate("location.hash = 'cut-off'")
    page.until("document.querySelector('#said').innerText.includes('link')", "the refusal of a link that was cut off")
    nothing_left_the_host(page, site)


def test_my_group_shows_the_loss_and_the_ways_which_can_be_cancelled(page, site):
    opened(page, f"{site}/group.html")
    page.until("!!document.querySelector('#run-result svg')", "the run")
    assert text(page, "#said") == "Inconsistent: the members want different messages."
    assert text(page, "#run-said").startswith("6 of 8 messages are lost")
    fits(page)
    assert page.evaluate(NAMELESS) == []
    press_example(page, 1)
    page.until("document.querySelector('#said').innerText.startsWith('Consistent')", "the other verdict")
    page.until("document.querySelector('#run-said').innerText.startsWith('0 of')", "the other run")
    page.evaluate("document.querySelector('#plan').click()")
    page.until("!!document.querySelector('#plan-result td')", "the first way", 60)
    page.evaluate("document.querySelector('#cancel').click()")
    page.until("document.querySelector('#plan-said').innerText === 'Cancelled.'", "the end")
    assert page.evaluate("document.activeElement.id") == "plan"
    page.evaluate("document.querySelector('#members .remove').click()")
    page.until("!document.querySelector('#result pre').innerText.includes('A:')", "a member less")
    nothing_left_the_host(page, site)
