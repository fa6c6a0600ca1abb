"""The site is built without a warning, its links hold, and it fetches nothing from elsewhere."""

from __future__ import annotations

import pytest

from rmqlab.checkout import ROOT
from rmqlab.diagnosis.decoder import entries
from rmqlab.errors import BadInput
from tests.proof.site.build import LANGUAGES, build
from tests.proof.site.chinese_search import PairsOfLetters
from tests.proof.site.decoder_page import LABELS
from tests.proof.site.links import faults

pytestmark = pytest.mark.slow


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
    ("planted", "told"),
    [
        ('<a href="gone.html">x</a>', "gone.html leads nowhere"),
        ('<a href="#no-such-place">x</a>', "has no place 'no-such-place'"),
        ('<a href="../zh/start/index.html#neither">x</a>', "has no place 'neither'"),
        ('<img src="https://example.org/x.png">', "fetches https://example.org/x.png from another host"),
        ('<script src="//example.org/x.js"></script>', "fetches //example.org/x.js from another host"),
        ('<link rel="stylesheet" href="https://example.org/x.css">', "from another host"),
    ],
)
def test_a_dead_link_is_found(site, tmp_path, planted, told):
    for name in ("en/index.html", "zh/start/index.html"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("<p>whole</p>", encoding="utf-8")
    assert faults(tmp_path, LANGUAGES) == []
    (tmp_path / "en/index.html").write_text(planted, encoding="utf-8")
    assert [told in one for one in faults(tmp_path, LANGUAGES)] == [True]


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
            assert f'hreflang="{there}" href="{up}{there}/{page}"' in text, page


def test_what_lies_in_the_folder_is_not_lost(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(BadInput, match="it exists and is no site"):
        build(tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_chinese_is_found_by_pairs_of_letters():
    language = PairsOfLetters({})
    assert language.split("消费者组的 tagA, 8 messages") == ["消费", "费者", "者组", "组的", "tagA", "8", "messages"]
    assert language.word_filter("组")
    assert not language.word_filter("the")
