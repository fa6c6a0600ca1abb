"""What the catalogues of the pages must have: each text that Sphinx would look up, and each block of README."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import polib  # type: ignore[import-untyped]

from rmqlab.checkout import ROOT
from tests.proof.site.decoder_page import texts_of_entries
from tests.proof.site.readme import blocks_of
from tests.proof.site.sources import lay_out

FOLDER = "docs/locale/LANG/LC_MESSAGES"
# Made from docstrings and help texts, which are English; their pages say so.
_LETTERS = re.compile("[A-Za-z]{2}")
# A code or a text that a program prints, alone with its anchor, is the same in every language.
_CODE = re.compile(r"`[^`]+`\{[^}]*\}")
# Made in each language: from the catalogues of the lessons, and with words of its own around English source.
IN_EACH = {"notebooks/quiz", "explanation/reading", "explanation/architecture", "explanation/versions"}
ENGLISH = {"reference/api", "reference/verbs", "explanation/rules"}


@cache
def texts_of_pages() -> dict[str, dict[str, tuple[str, ...]]]:
    """Catalogue (with `LANG` for the language) to its texts, in the page's order; a text to the pages where it stands.

    Sphinx reads every page for it, without the lessons, which have catalogues of their own: some seconds.
    """
    with tempfile.TemporaryDirectory(prefix="rmqlab-words-") as scratch:
        sources, texts_folder = Path(scratch) / "sources", Path(scratch) / "told"
        lay_out(sources, "en", lessons=False)
        command = [sys.executable, "-m", "sphinx", "-q", "-b", "gettext", "-d", f"{sources}-doctrees"]
        subprocess.run(  # noqa: S603
            [*command, str(sources), str(texts_folder)],
            cwd=ROOT,
            env=os.environ | {"RMQLAB_SITE_LANGUAGE": "en"},
            check=True,
            capture_output=True,
        )
        texts: dict[str, dict[str, tuple[str, ...]]] = {}
        for path in sorted(texts_folder.rglob("*.pot")):
            page = path.relative_to(texts_folder).with_suffix("").as_posix()
            if page not in ENGLISH | IN_EACH | {"sphinx"}:
                entries = polib.pofile(path.read_text(encoding="utf-8"))
                made = texts_of_entries() if page == "reference/decoder" else ()
                texts[f"{FOLDER}/{page}.po"] = {
                    entry.msgid: (page,)
                    for entry in entries
                    if _LETTERS.search(entry.msgid) and not _CODE.fullmatch(entry.msgid) and entry.msgid not in made
                }
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    texts[f"{FOLDER}/README.po"] = dict.fromkeys(blocks_of(readme), ("README.md",))
    return texts
