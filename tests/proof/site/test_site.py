"""The site is built without a warning, its links hold, and it fetches nothing from elsewhere."""

from __future__ import annotations

import functools
import json
import re
import struct
import threading
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

import pytest
from jinja2 import Environment, FileSystemLoader

from rmqlab.checkout import ROOT
from rmqlab.errors import BadInput
from rmqlab.run.fates import Fate
from rmqlab_tools.doctor.decoder import entries
from tests.browser.conftest import browser, program
from tests.proof.site.build import LANGUAGES, build
from tests.proof.site.chinese_search import PairsOfLetters
from tests.proof.site.decoder_page import LABELS
from tests.proof.site.home_page import preview
from tests.proof.site.links import faults
from tests.proof.site.preview_images import STATIC, digest, drawn_from, marked
from tests.proof.workshop.times import shown as shown_times

pytestmark = pytest.mark.slow
ADDRESS = "https://example.org/rmqlab/"  # of the fixture `site`
OLD_ADDRESS = "<script>location.replace("  # a page that leads on to where it is now


def test_every_lesson_has_its_page_in_both_languages(site):
    lessons = [path.relative_to(ROOT).with_suffix(".html") for path in (ROOT / "notebooks").glob("**/[0-9]*.ipynb")]
    assert len(lessons) >= 42
    assert [name for name in lessons for language in LANGUAGES if not (site / language / name).is_file()] == []


def test_links_hold_and_nothing_comes_from_another_host(site):
    assert faults(site, LANGUAGES) == []


def test_pictures_are_part_of_the_page(site):
    text = (site / "en/notebooks/01_eight_messages.html").read_text(encoding="utf-8")
    assert 'role="img" aria-labelledby=' in text
    assert "2 of 8 delivered, 6 lost, lag 0" in text


@pytest.mark.parametrize(
    ("planted", "fault_text"),
    [
        ('<a href="gone.html">x</a>', "gone.html leads nowhere"),
        ('<a href="#no-such-place">x</a>', "has no place 'no-such-place'"),
        ('<a href="../zh/start/index.html#neither">x</a>', "has no place 'neither'"),
        ('<img src="https://example.org/x.png">', "fetches https://example.org/x.png from another host"),
        ('<script src="//example.org/x.js"></script>', "fetches //example.org/x.js from another host"),
        ('<link rel="stylesheet" href="https://example.org/x.css">', "from another host"),
    ],
)
def test_a_dead_link_is_found(site, tmp_path, planted, fault_text):
    for name in ("en/index.html", "zh/start/index.html"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("<p>whole</p>", encoding="utf-8")
    assert faults(tmp_path, LANGUAGES) == []
    (tmp_path / "en/index.html").write_text(planted, encoding="utf-8")
    assert [fault_text in fault for fault in faults(tmp_path, LANGUAGES)] == [True]


def test_the_decoder_has_a_place_for_each_entry(site):
    for language in LANGUAGES:
        text = (site / language / "reference/decoder.html").read_text(encoding="utf-8")
        assert [name for name in entries() if f'id="{name}"' not in text] == []
        assert text.count('class="decoder-facts"') == len(entries())
    assert set(LABELS["en"]) == set(LABELS["zh"])


def test_no_style_sheet_asks_another_host(site):
    sheets = list(site.rglob("*.css"))
    assert sheets
    wrong = [path.name for path in sheets if "url(http" in (text := path.read_text("utf-8")) or "url(//" in text]
    assert wrong == []


def test_each_page_leads_to_itself_in_the_other_language(site):
    pages = [path.relative_to(site / "en") for path in (site / "en").rglob("*.html")]
    for page in pages:
        up = "../" * len(page.parts)
        for here, there in (("en", "zh"), ("zh", "en")):
            text = (site / here / page).read_text(encoding="utf-8")
            if OLD_ADDRESS in text:
                continue
            assert f'hreflang="{there}" href="{up}{there}/{page}"' in text, page


def test_what_lies_in_the_folder_is_not_lost(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(BadInput, match="it exists and is no site"):
        build(tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_folder_that_cannot_be_made_is_named_before_any_work(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="name a folder that can be written"):
        build(tmp_path / "file" / "site")


def test_every_fate_is_explained():
    text = (ROOT / "docs/reference/fates.md").read_text(encoding="utf-8")
    assert [fate for fate in Fate if f"| `{fate}` |" not in text] == []


def test_chinese_is_found_by_pairs_of_letters():
    language = PairsOfLetters({})
    assert language.split("消费者组的 tagA, 8 messages") == ["消费", "费者", "者组", "组的", "tagA", "8", "messages"]
    assert language.word_filter("组")
    assert not language.word_filter("the")


@pytest.fixture(scope="module")
def pages(site):
    """A Chromium and the address of the site on a server that hands out files and nothing else."""
    if program() is None:
        pytest.skip("no Chromium here; on Debian and Ubuntu: apt install chromium")
    paths = []

    class Files(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            paths.append(self.path)

    handler = functools.partial(Files, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, browser() as page:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield page, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
    assert paths


def shown(pages, path, width=1280):
    page, address = pages
    page.resize(width)
    page.open(f"{address}/{path}")
    page.until(f"document.readyState === 'complete' && location.href === '{address}/{path}'", path)
    return page


LOOKED_AT = (
    "en/index.html", "zh/index.html", "en/notebooks/index.html",
    "en/start/index.html", "zh/start/index.html", "en/notebooks/01_eight_messages.html",
    "zh/notebooks/08_every_schedule.html", "en/how-to/audit-a-store.html", "en/reference/verbs.html",
    "en/reference/api.html", "en/reference/decoder.html", "en/explanation/rules.html", "en/instructors/index.html",
    "en/notebooks/quiz.html", "zh/explanation/reading.html",
)  # fmt: skip


@pytest.mark.parametrize("width", [400, 1024, 1280])
def test_no_page_scrolls_sideways(pages, width):
    wide = {}
    for path in LOOKED_AT:
        page = shown(pages, path, width)
        if (least := page.evaluate("document.documentElement.scrollWidth - innerWidth")) > 0:
            wide[path] = least
    assert wide == {}


def test_the_reading_edition_folds(pages):
    page = shown(pages, "en/explanation/reading.html")
    hops, opened = (
        "document.querySelectorAll('details.reading-hop').length",
        "document.querySelectorAll('details[open]').length",
    )
    assert page.evaluate(hops) > 60
    page.until("!document.querySelector('.reading-fold').hidden", "its buttons")
    for button, count in ((1, hops), (2, "0")):
        page.evaluate(f"document.querySelector('.reading-fold button:nth-child({button})').click()")
        assert page.evaluate(opened) == page.evaluate(count)


LETTERS = """[...document.querySelectorAll('.cell_output svg[role="img"] text')].filter((one) => one.textContent.trim())
  .map((one) => one.ownerSVGElement.getBoundingClientRect().width / one.ownerSVGElement.viewBox.baseVal.width
    * parseFloat(getComputedStyle(one).fontSize))"""


@pytest.mark.parametrize("width", [400, 1024, 1280, 1600])
def test_letters_in_pictures_can_be_read(pages, width):
    page = shown(pages, "en/notebooks/04_two_layers.html", width)
    sizes = page.evaluate(LETTERS)
    assert len(sizes) > 100
    assert min(sizes) > 10.99
    if width > 1000:  # on a projector no picture has to be moved
        cells = "[...document.querySelectorAll('.cell_output .output')]"
        assert page.evaluate(
            f"{cells}.every((one) => one.scrollWidth <= one.clientWidth + 1 || !one.querySelector('svg'))"
        )


def test_a_lessons_sentences_are_no_wider_than_those_of_pages(pages):
    widest = "Math.max(...[...document.querySelectorAll('section > :is(p, ul, ol)')].map((one) => one.clientWidth))"
    of_page, of_lesson = (
        shown(pages, f"en/{name}.html", 1280).evaluate(widest) for name in ("how-to/browser", "notebooks/04_two_layers")
    )
    assert 0 < of_lesson <= of_page


def test_every_page_has_the_header_and_says_what_others_show_of_it(site):
    for path in [path for language in LANGUAGES for path in (site / language).rglob("*.html")]:
        text = path.read_text(encoding="utf-8")
        if OLD_ADDRESS in text:
            continue
        assert text.count('<header class="top"') == 1, path
        for name in ('rel="icon"', 'name="description"', 'property="og:image"', 'property="og:title"'):
            assert text.count(name) == 1, (path, name)
        image = re.search(rf'property="og:image" content="{ADDRESS}([^"]+)"', text)[1]
        assert (site / image).is_file(), path


def test_a_site_without_an_address_names_no_image():
    frames = Environment(loader=FileSystemLoader(ROOT / "docs" / "_templates"), autoescape=True)
    shown = {
        address: frames.get_template("preview.html").render(
            preview=preview("en", "a/b", "B", address), top={"static": "_static/"}
        )
        for address in ("", ADDRESS)
    }
    assert "og:image" not in shown[""]
    assert f'content="{ADDRESS}en/_static/preview-en.png"' in shown[ADDRESS]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_image_that_messengers_show_is_drawn_from_the_words_of_today(language):
    image = (STATIC / f"preview-{language}.png").read_bytes()
    assert drawn_from(image) == digest(language), "python -m tests.proof.site.preview_images draws it anew"
    assert struct.unpack_from(">II", image, 16) == (1200, 630)
    assert drawn_from(marked(image[:33], b"other")) == b"other"


def test_the_home_page_has_the_film_the_five_readers_and_commands_to_copy(pages):
    page = shown(pages, "en/index.html")
    assert page.evaluate("document.querySelectorAll('.home .cards')[0].children.length") == 5
    assert page.evaluate("document.querySelector('rmqlab-film').shadowRoot.querySelectorAll('.token').length") >= 8
    page.evaluate("navigator.clipboard.writeText = (text) => (window.taken = text)")
    page.evaluate("document.querySelector('.home-command button').click()")
    assert page.evaluate("window.taken") == "./lab notebook"


def test_nothing_of_the_home_page_moves_by_itself(pages):
    page = shown(pages, "zh/index.html")
    # What plays in the film lies in its shadow, and has no node here.
    moved = """new Promise((done) => {
      let sum = 0;
      new PerformanceObserver((list) => {
        for (const { value, sources } of list.getEntries()) if (sources.some(({ node }) => node)) sum += value;
      }).observe({ type: 'layout-shift', buffered: true });
      setTimeout(() => done(sum), 1_500);
    })"""
    assert page.evaluate(moved) < 0.02


def test_a_rule_is_shown_as_code_with_its_colours(site):
    text = (site / "en/notebooks/01_eight_messages.html").read_text(encoding="utf-8")
    assert '<span class="k">def</span><span class="w"> </span><span class="nf">client_keeps</span>' in text


def test_the_switch_of_themes_is_kept(pages):
    page = shown(pages, "en/index.html")
    ground = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(ground)
    page.evaluate("document.querySelector('.top-theme').click()")
    assert page.evaluate(ground) != before
    page = shown(pages, "zh/notebooks/01_eight_messages.html")
    assert page.evaluate(ground) != before
    night = "getComputedStyle(document.querySelector('.cell_output svg[role=img]')).backgroundColor"
    assert page.evaluate(night) != "rgb(255, 255, 255)"
    page.evaluate("document.querySelector('.top-theme').click()")
    assert page.evaluate(ground) == before
    assert page.evaluate(night) == "rgb(255, 255, 255)"
    page.evaluate("localStorage.clear()")


def test_a_lesson_that_was_read_is_marked_on_its_card(pages):
    page = shown(pages, "en/notebooks/index.html")
    card = "document.querySelector('[data-lesson={}] output').textContent"
    lesson = '"02_tags"'
    assert page.evaluate(card.format(lesson)) == "not begun"
    page = shown(pages, "en/notebooks/02_tags.html")
    page.until("JSON.parse(localStorage.getItem('rmqlab-read'))['02_tags'] > 0", "the begin")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.until("JSON.parse(localStorage.getItem('rmqlab-read'))['02_tags'] === 1", "the end")
    page = shown(pages, "en/notebooks/index.html")
    assert page.evaluate(card.format(lesson)) == "✓ read"
    page.evaluate("localStorage.clear()")


def test_the_lists_of_a_narrow_page_open_by_keyboard(pages):
    page = shown(pages, "en/how-to/spark.html", 400)
    page.evaluate("document.querySelector('.top-pages').focus()")
    page.press("Enter")
    page.until("!!document.activeElement.closest('.sidebar-drawer')", "the list of pages")
    assert page.evaluate("document.querySelector('.top-pages').getAttribute('aria-expanded')") == "true"
    page.press("Escape")
    page.until("document.activeElement.classList.contains('top-pages')", "its button")
    assert page.evaluate("document.querySelector('.top-pages').getAttribute('aria-expanded')") == "false"


def test_what_a_search_found_does_not_begin_with_the_header(pages):
    page = shown(pages, "en/search.html?q=heartbeat")
    page.until("document.querySelectorAll('#search-results li p.context').length > 3", "excerpts", 20)
    found = "[...document.querySelectorAll('#search-results li p.context')].map((one) => one.textContent)"
    texts = page.evaluate(found)
    assert [text for text in texts if "中文" in text[:60] or "Playgrounds" in text[:60]] == []


def test_the_seconds_of_a_workshop_are_those_that_were_measured(site):
    stored = json.loads((ROOT / "data" / "workshop" / "times.json").read_text(encoding="utf-8"))
    for language in LANGUAGES:
        text = unescape((site / language / "instructors" / "times.html").read_text(encoding="utf-8"))
        assert shown_times(stored) in re.sub(r"<[^>]+>", "", text)


def test_the_switch_leads_to_the_same_page(pages):
    page = shown(pages, "en/how-to/spark.html", 400)
    page.evaluate("document.querySelector('.site-languages a').click()")
    page.until("location.pathname === '/zh/how-to/spark.html' && document.documentElement?.lang === 'zh-CN'", "zh")


@pytest.mark.parametrize(
    ("language", "query", "found_page"),
    [
        ("en", "commitlog resend", "how-to/audit-a-store"),
        ("zh", "重平衡", "notebooks/07_rebalance"),
        ("zh", "布隆过滤器值得开启", "notebooks/05_bloom_profile"),
        ("zh", "SQL92 属性过滤", "notebooks/03_sql92"),
    ],
)
def test_a_search_finds_the_page(pages, language, query, found_page):
    page = shown(pages, f"{language}/search.html?q={quote(query)}")
    links = "[...document.querySelectorAll('#search-results li a')].map(a => a.getAttribute('href'))"
    page.until(f"{links}.some(link => link.startsWith('{found_page}.html'))", f"{found_page} for {query}", 20)


# The contrast of each text with what lies behind it, as WCAG reckons it; pictures have their own ground.
CONTRAST = """(() => {
  const rgb = (text) => { const n = text.match(/[\\d.]+/g).map(Number); return n.length > 3 ? n : [...n, 1]; };
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, at) => sum + v * [.2126, .7152, .0722][at], 0);
  const ground = (at) => { for (; at; at = at.parentElement) { const c = rgb(getComputedStyle(at).backgroundColor);
    if (c[3] > .9) return c; } return rgb(getComputedStyle(document.documentElement).backgroundColor); };
  const bad = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walk.nextNode());) {
    const box = node.parentElement;
    if (!node.data.trim() || box.closest('svg, style, script, .headerlink') || !box.checkVisibility()) continue;
    const [a, b] = [light(rgb(getComputedStyle(box).color)), light(ground(box))].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < 4.5) bad.add(node.data.trim().slice(0, 40));
  }
  return [...bad].slice(0, 5);
})()"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_by_day_and_by_night(pages, scheme):
    pages[0].call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    faint = {}
    for path in LOOKED_AT:
        page = shown(pages, path)
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
        if texts := page.evaluate(CONTRAST):
            faint[path] = texts
    pages[0].call("Emulation.setEmulatedMedia", features=[])
    assert faint == {}
