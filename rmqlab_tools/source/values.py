"""A text that is known, or why it is not: what comes out wherever code or configuration is asked for one."""

from __future__ import annotations

from dataclasses import dataclass

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
