"""What is still English in what a Chinese reader sees of a lesson: three words or more that are no code."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.proof.notebook_files import Notebook

_SENTENCE = re.compile(r"(?<![\w.`/-])[A-Za-z][a-z']*(?:[,;:]? [a-z][a-z']+){2,}(?![\w_(.=/])")
_ELEMENTS = re.compile(r"<(?P<name>\w+)(?P<more>[^<>]*)>(?P<text>[^<>]*)")
_CODE = {"style", "code", "script", "pre"}
_CONDITION = re.compile(r"\w+ is (not )?null|\w+ in \(|between \d")
_VALUES = re.compile(r"\b(true|false|null|error)\b")
_LISTING = re.compile(r"^(def|class|import|from|@|\s{4}|root$| \|--|\+--|\||\[?\{\")")
# What brokers and clients of RocketMQ say, word for word.
_ROCKETMQ = re.compile(
    r"CODE: |the consumer's subscription|does not support consumer to filter|V4_8_0|MQClientException|"
    r"cannot be compared|Illegal values of|Same subscription in|For input string|only showing top|is less than \d"
)


def left_in_english(notebook: Notebook) -> list[tuple[str, str]]:
    """The id of a cell and a text of it that was not translated, for each such text."""
    left = []
    for cell in notebook["cells"]:
        texts = ["".join(cell["source"])] if cell["cell_type"] == "markdown" else list(_shown(cell))
        left += [(cell["id"], sentence) for text in texts for sentence in sentences(text)]
    return list(dict.fromkeys(left))


def _shown(cell: dict[str, Any]) -> Iterator[str]:
    for output in cell.get("outputs", []):
        yield from "".join(output.get("text", "")).splitlines()
        data = {kind: "".join(content) for kind, content in output.get("data", {}).items() if "widget" not in kind}
        marked = [data[kind] for kind in ("text/html", "image/svg+xml") if kind in data]
        for text in marked:
            for element in _ELEMENTS.finditer(text):
                if element["name"] not in _CODE:
                    yield html.unescape(element["text"])
        if not marked:
            plain = data.get("text/plain", "")
            yield from plain.splitlines() if not plain.startswith(("def ", "class ", "@")) else ()


def sentences(text: str) -> list[str]:
    """The text if it holds a sentence in English."""
    bare = re.sub(r"```.*?```|`[^`]*`|\([^()]*://[^()]*\)|\]\([^)]*\)|“[^”]*”|\"[^\"]*\"", " ", text, flags=re.DOTALL)
    bare = re.sub(
        r"^#.*[\u4e00-\u9fff].*$|（[A-Za-z -]+）|\*[A-Za-z -]+\*（", " ", bare, flags=re.MULTILINE
    )  # a title or a term in both
    bare = _VALUES.sub("", bare)
    if _LISTING.match(text) or _ROCKETMQ.search(text) or _CONDITION.search(text):
        return []
    return [text] if _SENTENCE.search(bare) else []
