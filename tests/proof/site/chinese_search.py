"""How the site's search takes Chinese apart: into pairs of letters, on the page and in the browser alike.

A dictionary (jieba) cuts a question otherwise than it cut the page, and then finds nothing; pairs cannot disagree.
"""

from __future__ import annotations

import re
from functools import cache

from sphinx.search.en import SearchEnglish

_WORDS = re.compile(r"[\u3400-\u9fff]+|[^\W\u3400-\u9fff]+")
_CHINESE = re.compile(r"[\u3400-\u9fff]")


class EnglishWords(SearchEnglish):
    """Words as Sphinx takes them, each brought to its stem once, not once for each page."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._stem = cache(super().stem)

    def stem(self, word: str) -> str:
        """The part of a word that its forms have in common."""
        return self._stem(word)


class PairsOfLetters(EnglishWords):
    """English words as in English; of Chinese text each two letters that stand side by side."""

    lang = "zh"
    language_name = "English"  # Sphinx names the stemmer in the browser after it
    js_splitter_code = r"""
function splitQuery(query) {
    const words = query.match(/[\u3400-\u9fff]+|(?:(?![\u3400-\u9fff])[\p{L}\p{N}_])+/gu) || [];
    return words.flatMap((word) => /[\u3400-\u9fff]/.test(word) && word.length > 1
        ? Array.from({length: word.length - 1}, (_, at) => word.slice(at, at + 2)) : [word]);
}
"""

    def split(self, input: str) -> list[str]:
        """The words of a text.

        >>> PairsOfLetters({}).split("消费者组 tagA")
        ['消费', '费者', '者组', 'tagA']
        """
        words: list[str] = []
        for word in _WORDS.findall(input):
            if _CHINESE.match(word) and len(word) > 1:
                words += [word[at : at + 2] for at in range(len(word) - 1)]
            else:
                words.append(word)
        return words

    def word_filter(self, stemmed_word: str) -> bool:
        """Whether a word is worth finding."""
        return bool(_CHINESE.match(stemmed_word)) or super().word_filter(stemmed_word)
