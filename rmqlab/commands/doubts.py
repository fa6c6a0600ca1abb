"""What is probably not meant by the subscriptions that a verb is given, on standard error."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rmqlab.language import _

if TYPE_CHECKING:
    from collections.abc import Iterable


def print_doubts(verb: str, sentences: Iterable[str]) -> None:
    """Print a line for each, the same words once."""
    for sentence in dict.fromkeys(sentences):
        print(_("rmqlab {verb}: warning: {sentence}", verb=verb, sentence=sentence), file=sys.stderr)
