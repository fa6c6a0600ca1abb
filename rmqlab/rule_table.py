"""A table of rules of one version: some can be replaced, each says where it comes from; what is none is said."""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from rmqlab.errors import BadInput, did_you_mean, whole_number
from rmqlab.language import _, joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

V = TypeVar("V")
# Where a docstring names rows of our matrix of proofs ("; S-76..S-79"): these are for us, and not shown.
_ROWS = re.compile(r"[;,]?\s*\b[SFH]-\d+(?:(?:,\s*|\.\.)[SFH]-\d+)*")


class RuleSource(str):
    """Lines of Python that a notebook shows as they stand."""

    __slots__ = ()

    def __repr__(self) -> str:
        """The lines."""
        return str(self)


def entry_of(kind: type, name: str) -> str:
    """What the docstring of a table says of one of its constants, and where it comes from.

    >>> from rmqlab.rules import Rules
    >>> entry_of(Rules, "channel_expired_ms")
    '`ConsumerManager.CHANNEL_EXPIRED_TIMEOUT`, H-41'
    """
    entry = re.search(
        rf"`{name}`: (.+?)\.(?= `| [A-Z]|\s*$)", " ".join((kind.__doc__ or "").partition(">>>")[0].split())
    )
    return entry[1] if entry else ""


class RuleTable:
    """What `Rules` is built on: a frozen dataclass whose first field is the version, and whose others are rules.

    `may_be_0`: times that some version does not know. `choices`: rules that have one of some values.
    """

    __slots__ = ()
    may_be_0: ClassVar[frozenset[str]] = frozenset()
    choices: ClassVar[Mapping[str, tuple[object, ...]]] = {}

    def replace(self, **rules: object) -> Self:
        """These rules with some replaced.

        Raises:
            BadInput: there is no rule of that name, a function is none, or a time is no whole number of ms (above 0,
                but for the times that some version does not know).
        """
        for name, rule in rules.items():
            usual = self._named(name)
            if callable(usual):
                self._require_a_function(name, rule)
            elif isinstance(usual, int) and not isinstance(usual, bool):
                whole_number(name, rule, 0 if name in self.may_be_0 else 1)
            else:
                self._require_like(name, rule, usual)
        return dataclasses.replace(self, **rules)  # type: ignore[type-var]

    @staticmethod
    def _require_a_function(name: str, rule: object) -> None:
        if not callable(rule):
            raise BadInput(
                _(
                    "{name} is {rule}; right is a function, as source({quoted}) shows it",
                    name=name,
                    rule=f"{rule!r}",
                    quoted=f"{name!r}",
                )
            )

    def _require_like(self, name: str, rule: object, usual: object) -> None:
        """Check that each rule is of the kind of the usual one.

        Raises:
            BadInput: a rule is of another kind.
        """
        if name in self.choices:
            right, fits = joined(_(" or "), map(repr, self.choices[name])), rule in self.choices[name]
        else:
            right = "True or False" if isinstance(usual, bool) else type(usual).__name__
            fits = type(rule) is type(usual)
        if not fits:
            raise BadInput(_("{name} is {rule}; right is {right}", name=name, rule=f"{rule!r}", right=right))

    def _named(self, name: str) -> Any:
        known = [field.name for field in dataclasses.fields(self)]  # type: ignore[arg-type]
        if name not in known:
            raise BadInput(
                _(
                    "no rule {name}{near}; there are {known}",
                    name=f"{name!r}",
                    near=did_you_mean(name, known),
                    known=joined(", ", known[1:]),
                )
            )
        return getattr(self, name)

    def source(self, name: str) -> RuleSource:
        """The rule as it is written: its lines of Python, or the value of a constant and where it comes from.

        A rule that you put in yourself is shown in your own lines; of ours the numbers of rows are left out.

        >>> from rmqlab import RULES
        >>> RULES["4.8.0"].source("channel_expired_ms")
        channel_expired_ms = 120000  # ConsumerManager.CHANNEL_EXPIRED_TIMEOUT

        Raises:
            BadInput: there is no rule of that name; the text names those there are.
        """
        rule = self._named(name)
        if not callable(rule):
            origin = _ROWS.sub("", entry_of(type(self), name)).replace("`", "")
            return RuleSource(f"{name} = {rule!r}" + (f"  # {origin}" if origin else ""))
        try:
            lines = textwrap.dedent(inspect.getsource(rule)).rstrip()
        except (OSError, TypeError):
            return RuleSource(f"{name} = {rule!r}  # its lines are not at hand")
        if getattr(rule, "__module__", "").partition(".")[0] == __name__.partition(".")[0]:
            lines = _ROWS.sub("", lines)
        return RuleSource(re.sub(r"  # noqa:[^\n]*", "", lines))


def no_version(version: object, known: Iterable[str]) -> BadInput:
    """The error that there are no rules of a version, and of which there are."""
    return BadInput(
        _(
            "no rules of version {version}; there are those of {versions}",
            version=f"{version!r}",
            versions=joined(", ", known),
        )
    )


class ByVersion(dict[str, V]):
    """Rules by the version that has them; a version that is not here is a `BadInput` that names those that are."""

    def __getitem__(self, version: object) -> V:
        """The rules of a version; what cannot be a key is no version either."""
        if isinstance(version, str) and version in self:
            return super().__getitem__(version)
        raise no_version(version, self)
