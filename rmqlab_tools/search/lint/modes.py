"""How members of a group fetch: push and lite members pull, pop, grpc and simple members pop. What is lost differs.

Who pulls is filtered by the one subscription that the broker keeps for the group; who pops sends his own with each
request. The words of both, and what to say of a group that mixes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, get_args

from rmqlab.errors import BadInput, did_you_mean
from rmqlab.language import _, joined
from rmqlab.rules import DEFAULT_VERSION, POP_VERSIONS, rules_of
from rmqlab.scenario.scenario import POPPING, Kind
from rmqlab_tools.search.lint.limits import named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rmqlab.rules import Rules
    from rmqlab_tools.search.lint.findings import TopicLint
    from rmqlab_tools.search.lint.members import LintMember

MEMBER_KINDS: Final[tuple[str, ...]] = get_args(Kind)
AT_A_PROXY: Final = frozenset({"grpc", "simple"})
POP_VERSION: Final = POP_VERSIONS[-1]
"""Its rules count for members that pop, where no version is named."""


def require_kind(kind: object, where: str) -> str:
    """The kind of a member, as scenarios name it.

    Raises:
        BadInput: it is none; `where` names the place.
    """
    if not isinstance(kind, str) or kind not in MEMBER_KINDS:
        raise BadInput(
            _(
                "{where}: kind is {kind}; it is one of {kinds}{near}",
                where=where,
                kind=f"{kind!r}",
                kinds=joined(", ", MEMBER_KINDS),
                near=did_you_mean(str(kind), MEMBER_KINDS),
            )
        )
    return kind


def rules_for(members: Iterable[LintMember], version: str | None = None) -> Rules:
    """The rules of a version; without one those of 4.8.0, or of 5.5.0 where a member pops.

    Raises:
        BadInput: a member pops, and the version has no POP.
    """
    popping = next((member for member in members if member.pops), None)
    return rules_of_kind("push", version) if popping is None else rules_of_kind(popping.kind, version, popping.client)


def rules_of_kind(kind: str, version: str | None = None, client: str = "") -> Rules:
    """The rules of a version for members of a kind; `client` is who has it, for an error.

    Raises:
        BadInput: the kind pops, and the version has no POP.
    """
    rules = rules_of(version or (POP_VERSION if kind in POPPING else DEFAULT_VERSION))
    if kind in POPPING and not rules.has_pop:
        right = joined(", ", POP_VERSIONS)
        values = {"kind": kind, "version": rules.version, "right": right}
        raise BadInput(
            _("{client} is of kind {kind}: {version} has no POP; use push or lite, or a version of {right}",
              client=client, **values)
            if client
            else _("kind is {kind}: {version} has no POP; use push, or a version of {right}", **values)
        )  # fmt: skip
    return rules


def mixed_words(kinds: Mapping[str, tuple[str, ...]]) -> str:
    """What a group with members that pull and members that pop has to expect; "" for one of one way alone."""
    if len({kind in POPPING for kind in kinds}) < 2:
        return ""
    return _(
        "The group mixes ways to fetch ({kinds}): who pulls goes by the offsets of its own queues, who pops by the "
        "group's. Messages may be taken twice, and a commit of one sets the offset of the other back.",
        kinds=joined("; ", (f"{kind}: {named(clients)}" for kind, clients in kinds.items())),
    )


def rule_lines(topic: TopicLint) -> Iterator[str]:
    """By which rule something is lost where the members of a topic pop."""
    yield _(
        "Each pop carries its member's own expression. A message that comes wakes the first in line, if that one wants "
        "it; else it wakes no member, and the next pop of the first goes past it."
    )
    yield _("A message that fails comes again by a retry topic, and is popped with the popper's own expression.")
    if AT_A_PROXY.intersection(topic.kinds):
        yield _("What the proxy filters out itself, it acknowledges itself: the group does not get that again.")
