"""README in another language: made block by block from README.md and its catalogue, and committed beside it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rmqlab.checkout import ROOT
from rmqlab.language import read_catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator

CATALOGUE = ROOT / "docs" / "locale" / "zh" / "LC_MESSAGES" / "README.po"
CHINESE = ROOT / "README.zh.md"
SWITCH = {"[中文](README.zh.md)": "[English](README.md)"}
_FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
_RULE = re.compile(r"\|[-| ]+\|")
_WORD = re.compile(r"[A-Za-z]{2}")


def blocks_of(text: str) -> list[str]:
    r"""What is translated: each paragraph, heading and row of a table; listings are not.

    >>> blocks_of("# Top\n\nOne\ntwo.\n\n| a b |\n|---|\n| cd |")
    ['# Top', 'One\ntwo.', '| a b |', '| cd |']
    """
    return [part for part, is_text in _parts(text) if is_text]


def in_chinese(text: str) -> str:
    """README in Chinese; a block that is not translated stays English."""
    translations = read_catalogue(CATALOGUE) if CATALOGUE.exists() else {}
    translations |= SWITCH
    return "".join(translations.get(part, part) for part, _ in _parts(text))


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    """The text in pieces, and of each whether it is one to be translated."""
    for piece in _FENCE.split(text):
        if piece.startswith("```"):
            yield piece, False
            continue
        for part in re.split(r"(\n\n+|\n(?=\|)|^\n+|\n+$)", piece):
            yield part, bool(_WORD.search(part)) and part not in SWITCH and not _RULE.fullmatch(part)
