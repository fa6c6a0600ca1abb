"""The film in a saved page, without a kernel or a network: by mouse, by keyboard, at rest, at night, in Chinese."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from nbconvert import HTMLExporter

import rmqlab
from rmqlab.language import spoken
from tests.browser.conftest import browser, program
from tests.show.test_film import eight

FILM = "document.querySelectorAll('rmqlab-film')[0]"
CHINESE = "document.querySelectorAll('rmqlab-film')[1]"
ROOT = f"{FILM}.shadowRoot"
SAYS = f"{ROOT}.querySelector('.says').textContent"
MANY = "document.querySelectorAll('rmqlab-film')[2]"
ROOM_PX = 18  # what a room must read
LAB_PX = 679  # what JupyterLab shows of a notebook in a window of 800
CONTRAST = 4.5  # of WCAG 2.2, level AA
# The texts of a film whose ink is too near to their ground, with the contrast; what opacity takes away is counted.
FAINT = """((root) => {
  const numbers = (colour) => { const [r, g, b, a = 1] = colour.match(/[\\d.]+/g).map(Number); return [r, g, b, a]; };
  const light = (rgb) => rgb.map((part) => part / 255)
    .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, n) => sum + part * [0.2126, 0.7152, 0.0722][n], 0);
  const faint = [];
  for (const part of root.querySelectorAll('.film *')) {
    const text = [...part.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data).join('').trim();
    if (!text || !part.checkVisibility() || part.closest(':disabled, style')) continue;
    const above = [];
    for (let one = part; one instanceof Element; one = one.parentElement) above.push(one);
    const ground = above.map((one) => numbers(getComputedStyle(one).backgroundColor)).find((colour) => colour[3] > 0);
    const [r, g, b, a] = numbers(getComputedStyle(part).color);
    const seen = above.reduce((product, one) => product * getComputedStyle(one).opacity, a);
    const ink = [r, g, b].map((colour, n) => colour * seen + ground[n] * (1 - seen));
    const [more, less] = [light(ink), light(ground.slice(0, 3))].sort((x, y) => y - x);
    const contrast = (more + 0.05) / (less + 0.05);
    if (contrast < LEAST) faint.push([text, contrast]);
  }
  return faint;
})""".replace("LEAST", str(CONTRAST))


def of_output(film):
    """A cell as it is saved after a run."""
    output = nbformat.v4.new_output("execute_result", data=film._repr_mimebundle_(), execution_count=1)
    return nbformat.v4.new_code_cell("lab.play()", outputs=[output], execution_count=1)


def many():
    """Five members on eight queues: more than a window of 800 px can show at once."""
    lab = rmqlab.Lab(topics={"T": 8})
    for n in range(5):
        lab.consumer(f"member-{n}", group="G", subscribe={"T": f"tag{n}"})
        lab.run(seconds=2)
    lab.send("T", [f"tag{n % 5}" for n in range(24)])
    lab.run(seconds=5)
    return lab


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A notebook with a film in each language and a large one, saved as a page by nbconvert."""
    if program() is None:
        pytest.skip("no Chromium here; on Debian and Ubuntu: apt install chromium")
    lab = eight()
    cells = [of_output(lab.play())]
    with spoken("zh"):
        cells.append(of_output(lab.play()))
    cells.append(of_output(many().play()))
    file = tmp_path_factory.mktemp("saved") / "film.html"
    text, _ = HTMLExporter().from_notebook_node(nbformat.v4.new_notebook(cells=cells))
    file.write_text(text, encoding="utf-8")
    with browser(900, 1400, "--host-resolver-rules=MAP * ~NOTFOUND") as page:
        page.call("Emulation.setFocusEmulationEnabled", enabled=True)
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
        page.open(file.as_uri())
        page.until(f"!!{MANY}?.shadowRoot?.querySelector('.token')", "the films")
        yield page
        if folder := os.environ.get("RMQLAB_SCREENSHOTS"):
            page.picture(Path(folder) / "film.png")


def focused(page):
    page.evaluate(f"{ROOT}.querySelector('.film').focus()")


def boxes(page):
    """The bodies in each box of the stage, by its label."""
    script = (
        f"[...{ROOT}.querySelectorAll('.box')].map((box) => [box.querySelector('.label').textContent,"
        " [...box.querySelectorAll('.token span')].map((mark) => mark.nextSibling.textContent)])"
    )
    return [(label, bodies) for label, bodies in page.evaluate(script) if bodies]


def test_it_shows_the_end_first_and_home_goes_to_the_beginning(page):
    assert dict(boxes(page)) == {
        "dropped by the broker": [f"MsgStr{n}" for n in range(4)],
        "dropped by the client": ["MsgStr4", "MsgStr5"],
        "its listener got": ["MsgStr6", "MsgStr7"],
    }
    focused(page)
    page.press("Home")
    assert dict(boxes(page)) == {"to be sent": [f"MsgStr{n}" for n in range(8)]}
    assert "Group G has no members yet." in page.evaluate(SAYS)


def test_arrows_step_and_the_words_follow(page):
    focused(page)
    page.press("Home")
    page.press("ArrowRight")
    assert page.evaluate(SAYS).endswith("A starts and asks for tagA.")
    assert (
        page.evaluate(f"{ROOT}.querySelector('li[aria-current=step]').textContent")
        == "0 ms: A starts and asks for tagA."
    )
    assert page.evaluate(f"{ROOT}.querySelector('input').getAttribute('aria-valuetext')").startswith(
        "Step 1 of 41: A starts"
    )
    page.press("ArrowLeft")
    page.press("End")
    assert page.evaluate(SAYS).endswith("The end: 2 delivered, 4 dropped by the broker, 2 dropped by the client.")


def test_space_plays_and_stops(page):
    focused(page)
    page.press("Home")
    page.evaluate(f"{FILM}.rate = 100")
    page.press(" ")
    page.until(f"{FILM}.now > 2", "some steps")
    page.press(" ")
    stopped = page.evaluate(f"{FILM}.now")
    assert 2 < stopped < 41
    assert page.evaluate(f"{FILM}.playing") == 0
    page.press(" ")
    page.until(f"{FILM}.now === 41 && {FILM}.playing === 0", "the end, where it stops by itself")


def test_the_mouse_drags_steps_and_asks_a_message(page):
    place = page.evaluate(
        f"(({{x, y, width, height}}) => [x, y, width, height])({ROOT}.querySelector('input').getBoundingClientRect())"
    )
    x, y, width, height = place
    for kind, at in (("mousePressed", 0.9), ("mouseMoved", 0.5), ("mouseReleased", 0.5)):
        page.call(
            "Input.dispatchMouseEvent",
            type=kind,
            x=x + width * at,
            y=y + height / 2,
            button="left",
            buttons=1,
            clickCount=1,
        )
    assert 17 <= page.evaluate(f"{FILM}.now") <= 22
    page.evaluate(f"{ROOT}.querySelector('.last').click()")
    page.evaluate(f"{ROOT}.querySelectorAll('.token')[0].click()")
    way = page.evaluate(f"[...{ROOT}.querySelectorAll('.way li')].map((item) => item.textContent)")
    assert [step.partition(": ")[2] for step in way] == [
        "The producer sends MsgStr0 (tagA) to queue 0.",
        "A pulls queue 0, and the broker drops MsgStr0 (tagA): the slot lets through tagB.",
    ]


def test_tab_comes_to_every_message_and_the_focus_stays_with_it(page):
    page.evaluate(f"{ROOT}.querySelector('select').focus()")
    page.press("Tab")
    assert page.evaluate(f"{ROOT}.activeElement.className") == "token"
    name = page.evaluate(f"{ROOT}.activeElement.getAttribute('aria-label')")
    page.press("Home")
    assert page.evaluate(f"{ROOT}.activeElement.getAttribute('aria-label')").partition(":")[0] == name.partition(":")[0]
    assert page.evaluate(f"{ROOT}.activeElement.getAttribute('aria-label')").endswith("to be sent")


def test_what_a_room_must_read_is_large_and_nothing_is_cut(page):
    sizes = page.evaluate(
        f"[...{ROOT}.querySelectorAll('.says, .stage .chip, .stage .label, .token, .token small, .queue, .stage h4')]"
        ".map((part) => parseFloat(getComputedStyle(part).fontSize))"
    )
    assert min(sizes) >= ROOM_PX
    for width in (390, 900, 1280):
        page.resize(width, 1400)
        assert page.evaluate(f"{ROOT}.querySelector('.film').scrollWidth <= {ROOT}.querySelector('.film').clientWidth")
    page.resize(900, 1400)


@pytest.mark.parametrize("width", [900, 1280])
def test_a_large_film_fits_into_a_small_window_and_shows_what_happens(page, width):
    """The bar stays where it is; the stage below it scrolls by itself to the messages of each step."""
    page.resize(width, 800)
    page.evaluate(f"{MANY}.scrollIntoView()")
    film = f"{MANY}.shadowRoot"
    steps = page.evaluate(
        f"(({{ frames, tokens, shadowRoot: root }}) => frames.map((frame, n) => {{ {MANY}.go(n, {{ moves: false }});"
        " const [room, film] = ['.stage', '.film'].map((name) => root.querySelector(name).getBoundingClientRect());"
        " const moved = frame.c.map((one) => tokens[one].getBoundingClientRect());"
        " const hidden = moved.map(({ top, bottom }) => Math.max(room.top - top, bottom - room.bottom));"
        " return [film.height, Math.max(0, ...hidden)];"
        f" }}))({MANY})"
    )
    over = f"(({{ scrollHeight, clientHeight }}) => scrollHeight - clientHeight)({film}.querySelector('.stage'))"
    assert page.evaluate(over) > 0
    assert max(height for height, _ in steps) <= LAB_PX
    assert [n for n, (_, hidden) in enumerate(steps) if hidden > 0] == []
    assert page.evaluate(f"{film}.querySelector('.film').scrollWidth <= {film}.querySelector('.film').clientWidth")
    page.resize(900, 1400)


def test_who_does_not_run_looks_so_and_is_read(page):
    page.evaluate(f"{FILM}.go(0, {{ moves: false }})")
    member = f"{ROOT}.querySelector('.member')"
    look = f"(({{ borderStyle, backgroundColor }}) => [borderStyle, backgroundColor])(getComputedStyle({member}))"
    away = page.evaluate(look)
    assert page.evaluate(f"{member}.querySelector('.reads').textContent") == "not running"
    assert page.evaluate(f"parseFloat(getComputedStyle({member}.querySelector('.reads')).fontSize)") >= ROOM_PX
    page.evaluate(f"{FILM}.go(1, {{ moves: false }})")
    assert all(was != now for was, now in zip(away, page.evaluate(look), strict=True))


@pytest.mark.parametrize("look", ["light", "dark"])
def test_every_text_stands_out_from_its_ground(page, look):
    page.evaluate(f"void {FILM}.toggleAttribute('data-dark', {'true' if look == 'dark' else 'false'})")
    try:
        for step in (0, 1, 20, 41):
            page.evaluate(f"{FILM}.go({step}, {{ moves: false }})")
            assert page.evaluate(f"{FAINT}({ROOT})") == [], step
    finally:
        page.evaluate(f"void {FILM}.removeAttribute('data-dark')")


def test_the_ground_of_the_page_decides_between_light_and_dark(page):
    assert not page.evaluate(f"{FILM}.hasAttribute('data-dark')")
    ground = "document.body.style.setProperty('background', {}, 'important')"
    cells = (
        "document.querySelectorAll('main, main *:not(rmqlab-film)').forEach((one) => (one.style.background = 'none'))"
    )
    page.evaluate(f"{cells}; {ground.format(repr('#111'))}")
    page.until(f"{FILM}.hasAttribute('data-dark')", "the dark look")
    page.evaluate(ground.format(repr("#fff")))
    page.until(f"!{FILM}.hasAttribute('data-dark')", "the light look")


def test_in_chinese(page):
    root = f"{CHINESE}.shadowRoot"
    assert "播放" in page.evaluate(f"{root}.querySelector('.play').textContent")
    page.evaluate(f"{CHINESE}.go(19)")
    assert page.evaluate(f"{root}.querySelector('.says').textContent").endswith(
        "A 拉取队列 0，Broker 丢弃 MsgStr0（tagA）：槽位只放行 tagB。"
    )


def test_every_control_has_a_name(page):
    controls = f"[...{ROOT}.querySelectorAll('button, input, select')]"
    named = "(one) => one.getAttribute('aria-label') || one.textContent.trim()"
    assert page.evaluate(f"{controls}.length > 10 && {controls}.every({named})")


def test_a_film_that_is_made_anew_watches_the_light_once(page):
    """A playground sets another film with every change; one that is gone watches nothing."""
    page.evaluate(
        "window.watching = 0;"
        "for (const [name, more] of [['addEventListener', 1], ['removeEventListener', -1]])"
        " MediaQueryList.prototype[name] = function (...rest) {"
        " window.watching += more; return EventTarget.prototype[name].apply(this, rest); }"
    )
    again = f"void ({FILM}.film = {{ data: {FILM}.data, steps: {FILM}.steps }})"
    for _ in range(3):
        page.evaluate(again)
    assert page.evaluate("window.watching") == 0
    page.evaluate(f"{FILM}.remove()")
    assert page.evaluate("window.watching") == -1
