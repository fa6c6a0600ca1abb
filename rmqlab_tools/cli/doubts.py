"""What is probably not meant by the subscriptions that a verb is given, beside its result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.language import _
from rmqlab_tools.cli.printing import warn

if TYPE_CHECKING:
    from collections.abc import Iterable


def print_doubts(verb: str, sentences: Iterable[str]) -> None:
    """Print a line for each on standard error, the same words once."""
    for sentence in dict.fromkeys(sentences):
        warn(verb, _("warning: {sentence}", sentence=sentence))
