"""The field of the decoder's page: a number, a word, a pasted line; a link to an entry shows it whatever was typed."""

from __future__ import annotations

import json

import pytest

from rmqlab_tools.doctor.decoder import entries
from tests.browser.conftest import browser, program

ASK = """(() => {
  const field = document.getElementById("decoder-find");
  field.value = %s;
  field.dispatchEvent(new Event("input"));
  return [...document.querySelectorAll("dt:not([hidden])")].map((dt) => dt.firstElementChild.id);
})()"""


@pytest.fixture(scope="module")
def page(site):
    """The page of the built site in a browser."""
    if program() is None:
        pytest.skip("no Chromium here; on Debian and Ubuntu: apt install chromium")
    with browser() as page:
        page.open((site / "en" / "reference" / "decoder.html").as_uri())
        page.until("document.readyState === 'complete' && !!document.getElementById('decoder-find')", "the page")
        yield page


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ("25", ["response-25-subscription-not-latest"]),
        ("208", ["response-208-no-message", "request-208-get-consume-stats"]),
        (
            "WARN x - SCAN: remove expired channel from ConsumerManager consumerTable. channel=1:5, consumerGroup=G",
            ["log-scan-expired"],
        ),
        ("heartBeatV2 ClientManageProcessor: registerConsumer info changed, SDK address=a, consumerData=b",
         ["log-register-changed"]),
        ("nothing that anybody says", []),
    ],
)  # fmt: skip
def test_what_is_asked_is_shown(page, asked, shown):
    assert page.evaluate(ASK % json.dumps(asked)) == shown
    assert page.evaluate("document.getElementById('decoder-count').textContent") == str(len(shown))


def test_a_link_shows_its_entry_whatever_was_typed(page):
    page.evaluate(ASK % json.dumps("25"))
    page.evaluate("location.hash = 'log-scan-expired'")
    page.until("!document.getElementById('log-scan-expired').closest('dt').hidden", "the entry")
    assert len(page.evaluate(ASK % '""')) == len(entries())


@pytest.mark.parametrize("width", [400, 1024])
def test_nothing_scrolls_sideways(page, width):
    page.resize(width)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
