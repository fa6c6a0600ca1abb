"""The pages of the lab lead to pages and files that the site has."""

from __future__ import annotations

import shutil

from rmqlab.checkout import folder
from tests.proof.site.build import LANGUAGES
from tests.proof.site.links import faults


def test_every_link_of_the_pages_leads_to_a_file(tmp_path):
    shutil.copytree(folder("docs") / "lab", tmp_path / "lab")
    (tmp_path / "index.html").write_text("<p>the first page</p>", encoding="utf-8")
    assert faults(tmp_path, LANGUAGES) == []
