"""JupyterLab in the reader's own browser: a lesson runs there, from a static server, and no other host is asked."""

from __future__ import annotations

import functools
import json
import threading
from http.server import ThreadingHTTPServer

import pytest

from rmqlab.checkout import ROOT
from rmqlab.errors import BadInput
from tests.browser.conftest import browser, program
from tests.browser.test_playgrounds import CUT, READY_S, _Files, fits, opened
from tests.proof.site import browser_lessons, playgrounds

RUN_S = 300
NOT_HERE = "This cell needs pandas, which has no build for the Python of this page."
PANEL = "(window.panel = [...(window.jupyterapp?.shell.widgets('main') ?? [])].find((one) => one.content?.widgets))"
GUESS = """panel.content.widgets.map((one) => one.model.sharedModel).filter((one) => one.source.includes('=...'))
  .map((one) => one.setSource(one.source.replaceAll('=...', '=4'))).length"""
OUTPUTS = """panel.content.widgets.filter((one) => one.model.type === 'code')
  .flatMap((one) => one.model.outputs.toJSON())"""
RUN = "void jupyterapp.commands.execute('notebook:run-all-cells').finally(() => (window.finished = true))"
CELLS = """panel.content.widgets.filter((one) => one.model.type === 'code')
  .map((one) => [one.model.id, JSON.stringify(one.model.outputs.toJSON())])"""
IDLE = "window.finished && panel.sessionContext.session?.kernel?.status === 'idle'"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of the pages, JupyterLite among them."""
    folder = tmp_path_factory.mktemp("site")
    try:
        playgrounds.assemble(folder / "playgrounds")
        browser_lessons.assemble(folder / "playgrounds" / "lessons")
    except BadInput as error:
        pytest.skip(str(error))
    handler = functools.partial(_Files, directory=str(folder))
    before = len(_Files.refused)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/playgrounds"
        server.shutdown()
    assert _Files.refused[before:] == []


def test_all_cells_of_a_lesson_run_in_the_readers_browser_and_say_what_cannot(site):
    if program() is None:
        pytest.skip("no Chromium here; on Debian and Ubuntu: apt install chromium")
    with browser(1280, 1600, CUT) as page:
        opened(page, f"{site}/lessons.html?lang=zh")
        links = page.evaluate("[...document.querySelectorAll('#list a')].map((one) => decodeURIComponent(one.href))")
        there = (path.name for path in sorted((ROOT / "notebooks").glob("*.ipynb")))
        lessons = [f"zh/{name}" for name in there if name[:2] in browser_lessons.LESSONS]
        assert [link.rpartition("path=")[2] for link in links] == lessons
        fits(page)
        page.open(f"{site}/lessons/lab/index.html?path=01_eight_messages.ipynb")
        page.until(f"{PANEL}?.sessionContext.session?.kernel?.status === 'idle'", "the kernel", READY_S)
        assert page.evaluate(GUESS) == 1
        page.evaluate(
            "void jupyterapp.commands.execute('notebook:run-all-cells').finally(() => (window.finished = true))"
        )
        page.until(IDLE, "the last cell", RUN_S)
        assert page.evaluate("!!document.querySelector('.jp-RenderedSVG')")
        outputs = page.evaluate(OUTPUTS)
        assert [one for one in outputs if one["output_type"] == "error"] == []
        assert [one for one in outputs if NOT_HERE in one.get("data", {}).get("text/plain", "")] == []
        told = page.evaluate(CELLS)
        page_of_it = (ROOT / "docs/how-to/browser.md").read_text(encoding="utf-8")
        cannot = ", ".join(f"`{name}`" for name, text in told if "This cell " in text) or "none"
        assert f"| 01 | {len(told)} | {cannot} |" in page_of_it
        lesson = json.loads((ROOT / "notebooks/01_eight_messages.ipynb").read_text(encoding="utf-8"))
        (lag,) = (cell["outputs"] for cell in lesson["cells"] if cell["id"] == "lag")
        assert "".join(lag[0]["data"]["text/plain"]) in [one.get("data", {}).get("text/plain") for one in outputs]


def test_every_cell_of_another_lesson_runs_there_too(site):
    if program() is None:
        pytest.skip("no Chromium here; on Debian and Ubuntu: apt install chromium")
    with browser(1280, 1600, CUT) as page:
        page.open(f"{site}/lessons/lab/index.html?path=03_sql92.ipynb")
        page.until(f"{PANEL}?.sessionContext.session?.kernel?.status === 'idle'", "the kernel", READY_S)
        page.evaluate(GUESS)
        page.evaluate(RUN)
        page.until(IDLE, "the last cell", RUN_S)
        told = page.evaluate(CELLS)
        failed = [name for name, text in told if '"output_type":"error"' in text or "This cell " in text]
        assert failed == []
        page_of_it = (ROOT / "docs/how-to/browser.md").read_text(encoding="utf-8")
        assert f"| 03 | {len(told)} | none |" in page_of_it
