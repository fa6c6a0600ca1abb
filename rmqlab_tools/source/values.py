"""A text that is known, or why it is not: what comes out wherever code or configuration is asked for one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rmqlab.language import _
from rmqlab.protocol.subscription_data import SQL92, TAG
from rmqlab_tools.source.terms import Function


@dataclass(frozen=True, slots=True)
class Known:
    """A text."""

    text: str


@dataclass(frozen=True, slots=True)
class NotKnown:
    """Why a text is not known. `given`: the functions whose parameters it depends on, so their callers may tell."""

    why: str
    given: frozenset[Function] = frozenset()


Value = Known | NotKnown
GROUP_KEYS: Final = {"GROUP_ID", "ConsumerId"}
"""The group in the properties of ONS's clients: `PropertyKeyConst.GROUP_ID`, and what older ones call it."""
NO_GROUP: Final = NotKnown(_("no group is given where it is made"))


def text_if_known(value: Value | None) -> str:
    """The text, "" of one that is not known or not there."""
    return value.text if isinstance(value, Known) else ""


def not_empty(value: Value) -> Value:
    """A value that must say something; of an empty one it is not known what is meant."""
    return NotKnown(_("its text is empty")) if value == Known("") else value


def or_all(value: Value) -> Value:
    """4.8.0 `FilterAPI.buildSubscriptionData`: no text is all messages."""
    return Known("*") if value == Known("") else value


def kind_of(value: Value) -> Value:
    """TAG or SQL92, as a text names it."""
    return Known(SQL92 if value.text.upper() in {"SQL92", "SQL"} else TAG) if isinstance(value, Known) else value
