"""Pictures: the same bytes every time, words for those who do not see them, nothing of the machine."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest
from IPython.core.formatters import DisplayFormatter

import rmqlab
from rmqlab_tools.course.articles.eight_messages import EightMessages
from rmqlab_tools.show.canvas import painted, text_width
from rmqlab_tools.show.fate_grid import fate_grid
from rmqlab_tools.show.figure import SVG_MIME, Picture
from rmqlab_tools.show.slot_timeline import slot_timeline
from rmqlab_tools.show.swimlane import swimlane
from rmqlab_tools.show.tables import Table

pytestmark = pytest.mark.slow

DRAWINGS = [fate_grid, slot_timeline, swimlane]
NAMESPACE = "{http://www.w3.org/2000/svg}"
TABLE = Table("t", ("a",), [("1",)])


@pytest.fixture(scope="module")
def run():
    return EightMessages().run()


@pytest.mark.parametrize("draw", DRAWINGS)
def test_picture_has_role_title_description_and_size(draw, run):
    picture = draw(run)
    root = ET.fromstring(picture.svg)
    assert root.get("role") == "img"
    title, description = root.find(f"{NAMESPACE}title"), root.find(f"{NAMESPACE}desc")
    assert root.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
    assert (title.text, description.text) == (picture.title, picture.alt)
    assert float(root.get("width")) > 400
    assert "pt" not in root.get("width")


@pytest.mark.parametrize("odd", ["\x00", "\x0b", "\ud800", "\uffff"])
def test_what_no_xml_file_may_have_is_drawn_as_its_escape(odd):
    """Bodies and tags are any text: half of a surrogate pair, or a zero byte."""
    lab = rmqlab.Lab(topics={"T": 1})
    lab.consumer("A", group="G", subscribe={"T": "*"})
    lab.send("T", f"tag{odd}")
    lab.run(seconds=5)
    for picture in (lab.swimlane(), lab.grid()):
        assert f"tag{ascii(odd)[1:-1]}" in "".join(ET.fromstring(picture.svg.encode()).itertext())
        assert odd not in picture.alt


@pytest.mark.parametrize("draw", DRAWINGS)
def test_text_stays_text(draw, run):
    picture = draw(run)
    assert "tagA" in "".join(ET.fromstring(picture.svg).itertext())
    assert len(picture.svg) < 60_000


@pytest.mark.parametrize("draw", DRAWINGS)
def test_nothing_of_the_moment_or_the_machine(draw, run):
    svg = draw(run).svg
    assert not re.search(r"matplotlib|<metadata|<!--|<\?xml|DOCTYPE|\b20\d\d-\d\d-\d\d", svg)
    assert not [tag for tag in re.findall(r"<[^>]*>", svg) if re.search(r"\d\.\d{3,}", tag)]


@pytest.mark.parametrize("draw", DRAWINGS)
def test_text_stays_within_the_picture(draw, run):
    """No label begins or ends outside: measured with the wide typeface of the layout."""
    root = ET.fromstring(draw(run).svg)
    _, _, width, height = map(float, root.get("viewBox").split())
    for text in root.iter(f"{NAMESPACE}text"):
        x, y, size = (float(text.get(name)) for name in ("x", "y", "font-size"))
        length = text_width(text.text, size) * 72
        start = {"middle": x - length / 2, "end": x - length}.get(text.get("text-anchor"), x)
        assert start >= -1, text.text
        assert start + length <= width + 1, text.text
        assert 0 <= y <= height, text.text


@pytest.mark.parametrize("draw", DRAWINGS)
def test_letters_have_11_px_on_a_page_of_1024_px(draw, run):
    """Such a page has a column of 899 px (tests/browser/test_pictures.py measures it)."""
    root = ET.fromstring(draw(run).svg)
    scale = 899 / float(root.get("viewBox").split()[2])
    sizes = {float(text.get("font-size")) * scale for text in root.iter(f"{NAMESPACE}text")}
    assert min(sizes) >= 10.99


def test_the_pointer_is_told_what_became_of_a_message(run):
    told = [title.text for title in ET.fromstring(fate_grid(run).svg).iter(f"{NAMESPACE}title")]
    assert "MsgStr2, tagA, queue 0 offset 0: dropped by the broker; the subscription that decided: tagB" in told


def test_pictures_do_not_need_matplotlib():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from rmqlab_tools.show import lines; lines([{'n': 1, 'm': 2}], x='n', value='m', title='t')\n"
        "from rmqlab_tools.course.articles.eight_messages import EightMessages as E\n"
        "from rmqlab_tools.show.fate_grid import fate_grid\n"
        "from rmqlab_tools.show.swimlane import swimlane; r = E().run(); fate_grid(r), swimlane(r)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=path())


def test_pictures_are_the_same_in_another_process():
    code = (
        "from rmqlab_tools.course.articles.eight_messages import EightMessages as E;"
        "from rmqlab_tools.show.fate_grid import fate_grid;"
        "from rmqlab_tools.show.swimlane import swimlane; r = E().run(); "
        "print(fate_grid(r).html() + swimlane(r).html())"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, **path()},
        ).stdout
        for seed in ("1", "2")
    }
    run = EightMessages().run()
    assert printed == {fate_grid(run).html() + swimlane(run).html() + "\n"}


def path():
    return {"PYTHONPATH": ":".join(filter(None, sys.path))}


@pytest.mark.parametrize(("title", "alt"), [("", "words"), ("title", " ")])
def test_a_picture_without_words_is_refused(title, alt):
    with pytest.raises(ValueError, match="needs a title and an alt text"):
        Picture("<svg></svg>", title=title, alt=alt, table=TABLE)


def test_alt_has_no_default():
    with pytest.raises(TypeError, match="alt"):
        Picture("<svg></svg>", title="x", table=TABLE)


def test_what_a_notebook_gets():
    picture = Picture(painted(1, 1, lambda canvas: canvas.heading("T")), title="T & t", alt="A < a", table=TABLE)
    assert picture._repr_mimebundle_() == {SVG_MIME: picture.svg, "text/plain": "T & t\nA < a"}
    assert "<p>A &lt; a</p><table>" in picture.words()
    assert picture.svg in picture.html()


def test_a_notebook_shows_picture_and_words(monkeypatch):
    shown = []

    def display(data, *, raw):
        assert raw
        shown.append(data)

    monkeypatch.setattr("IPython.display.display", display)
    picture = Picture(painted(1, 1, lambda canvas: canvas.heading("T")), title="T", alt="A", table=TABLE)
    formatter = DisplayFormatter()
    formatter.ipython_display_formatter(picture)
    assert [sorted(data) for data in shown] == [[SVG_MIME, "text/plain"], ["text/html", "text/plain"]]


@pytest.mark.parametrize(("drawn", "shown"), [((400, 120), (400, 120)), ((1_640, 400), (1100, 268))])
def test_a_wide_picture_is_shown_smaller_and_whole(drawn, shown):
    width, height = drawn
    svg = f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}"></svg>'
    picture = Picture(svg, title="t", alt="a", table=Table("c", ("h",), []))
    assert f'width="{shown[0]}" height="{shown[1]}" viewBox="0 0 {width} {height}"' in picture.svg
