"""JupyterLab in the reader's own browser: a lesson runs there, from a static server, and no other host is asked."""

from __future__ import annotations

import functools
import threading
from http.server import ThreadingHTTPServer

import pytest

from rmqlab.errors import BadInput
from tests.browser.conftest import browser, program
from tests.browser.test_playgrounds import CUT, READY_S, _Files, fits, opened
from tests.proof.site import browser_lessons, playgrounds

PANEL = "(window.panel = [...(window.jupyterapp?.shell.widgets('main') ?? [])].find((one) => one.content?.widgets))"
GUESS = """panel.content.widgets.map((one) => one.model.sharedModel).filter((one) => one.source.includes('=...'))
  .map((one) => one.setSource(one.source.replaceAll('=...', '=4'))).length"""
ERRORS = """panel.content.widgets.filter((one) => one.model.type === 'code')
  .flatMap((one) => one.model.outputs.toJSON()).filter((one) => one.output_type === 'error')
  .map((one) => one.ename + ': ' + one.evalue)"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of the pages, JupyterLite among them."""
    folder = tmp_path_factory.mktemp("site")
    try:
        playgrounds.assemble(folder / "lab")
        browser_lessons.assemble(folder / "lab" / "lessons")
    except BadInput as error:
        pytest.skip(str(error))
    handler = functools.partial(_Files, directory=str(folder))
    before = len(_Files.refused)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/lab"
        server.shutdown()
    assert _Files.refused[before:] == []


def test_a_lesson_runs_in_the_readers_browser_and_says_what_cannot(site):
    if program() is None:
        pytest.skip("no Chromium here; on Debian and Ubuntu: apt install chromium")
    with browser(1280, 1600, CUT) as page:
        opened(page, f"{site}/lessons.html?lang=zh")
        links = page.evaluate("[...document.querySelectorAll('#list a')].map((one) => decodeURIComponent(one.href))")
        assert [link.rpartition("path=")[2][:5] for link in links] == [f"zh/{one}" for one in browser_lessons.LESSONS]
        fits(page)
        page.open(f"{site}/lessons/lab/index.html?path=01_eight_messages.ipynb")
        page.until(f"{PANEL}?.sessionContext.session?.kernel?.status === 'idle'", "the kernel", READY_S)
        assert page.evaluate(GUESS) == 1
        page.evaluate("void jupyterapp.commands.execute('notebook:run-all-cells')")
        page.until("!!document.querySelector('.jp-RenderedSVG')", "the first picture", READY_S)
        page.until(f"{ERRORS}.some((one) => one.includes('pandas, which cannot run in this page'))", "what cannot run")
