"""Addresses of lessons that are none any more lead to the pages that they became."""

from __future__ import annotations

import pytest

from rmqlab.checkout import ROOT
from tests.proof.site.build import MOVED_LESSONS, SiteError, redirect_lessons


def test_an_old_address_leads_to_the_new_page(tmp_path):
    for new in MOVED_LESSONS.values():
        assert (ROOT / "docs" / new).with_suffix(".md").is_file()
        (tmp_path / new).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / new).touch()
    redirect_lessons(tmp_path)
    for old in MOVED_LESSONS:
        place = tmp_path / old
        address = place.read_text(encoding="utf-8").partition('rel="canonical" href="')[2].partition('"')[0]
        assert (place.parent / address).resolve() == tmp_path / MOVED_LESSONS[old]
        assert not (ROOT / old).with_suffix(".ipynb").exists()


def test_a_page_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SiteError, match=r"leads to how-to/cluster\.html, which is not there"):
        redirect_lessons(tmp_path)
