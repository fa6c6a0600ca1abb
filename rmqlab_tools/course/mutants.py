"""Broken brokers and clients: each has one rule replaced by a wrong one, for the bug hunt.

The file says what is wrong, so read it after the hunt.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput, did_you_mean
from rmqlab.language import _, joined
from rmqlab.rules import DEFAULT_RULES, is_notified

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab.rules import Held, Rules, Table

SOUND = DEFAULT_RULES
FUNCTIONS = [one.name for one in fields(SOUND) if callable(getattr(SOUND, one.name))]  # names of the rules


class HiddenRule:
    """A rule that works and does not show its lines: a hunt is for what it does."""

    def __init__(self, rule: Callable[..., Any]) -> None:
        self._rule = rule

    def __call__(self, *args: Any) -> Any:
        """What the rule says."""
        return self._rule(*args)

    def __repr__(self) -> str:
        """No more than that it is one."""
        return "<perhaps the wrong one: look at what it does>"


def _older_version_wins(table_held: Held, reported: Iterable[SubscriptionData]) -> Table:
    table = {data.topic: data for data in reported}
    return {
        topic: table_held[topic] if topic in table_held and table_held[topic].sub_version == data.sub_version else data
        for topic, data in table.items()
    }


def _last_member_first(current_cid: str, mq_all: Sequence[Any], cid_all: Sequence[str]) -> list[Any]:
    return SOUND.allocate(current_cid, mq_all, sorted(cid_all, reverse=True))


def _newcomers_are_not_told(before: Held, updated: Held, joined: bool) -> bool:
    return not joined and is_notified(before, updated, joined)


def _rounded_up(current_cid: str, mq_all: Sequence[Any], cid_all: Sequence[str]) -> list[Any]:
    start = list(cid_all).index(current_cid) * (len(mq_all) // len(cid_all))
    return list(mq_all[start : start - len(mq_all) // -len(cid_all)])


# The rules that are replaced, by the name of what is broken; those up to ember are lesson 01's.
WRONG_RULES: Mapping[str, Mapping[str, Any]] = {
    "amber": {"client_keeps": lambda _, tag: tag is not None},
    "basalt": {"update_subscription": _older_version_wins},
    "coral": {"offset_after_nothing_kept": lambda offset, waiting: offset if waiting else None},
    "dune": {"is_latest": lambda held, pull: held == pull},
    "ember": {"allocate": _last_member_first},
    # Those of the later hunts.
    "flint": {"tags_code": lambda tag: SOUND.tags_code(tag and tag.lower())},
    "moss": {"client_keeps": lambda held, tag: not held.tags_set or SOUND.tags_code(tag) in held.code_set},
    "lapis": {
        "is_matched_by_consume_queue": lambda held, code: not code or SOUND.is_matched_by_consume_queue(held, code)
    },
    "onyx": {"is_matched_by_commit_log": lambda value: value is not False},
    "quartz": {"is_matched_by_commit_log": lambda value: value is not None},
    "topaz": {"client_keeps": lambda held, tag: tag in held.tags_set or held.sub_string == "*"},
    "kelp": {"is_expired": lambda now, last, expired_ms: now - last > expired_ms // 6},
    "larch": {"is_notified": _newcomers_are_not_told},
    "olive": {"allocate": _rounded_up},
    "poppy": {"is_notified": lambda *_: True},
}


def broken(name: str) -> Rules:
    """The rules of 4.8.0 but for a wrong one, for a bug hunt: `rmqlab.Lab(..., rules=broken("moss"))`.

    >>> broken("moss").version
    '4.8.0'

    Raises:
        BadInput: no such rules; the text names those there are.
    """
    if name not in WRONG_RULES:
        raise BadInput(
            _(
                "no broken rules {name}{near}; there are: {wrong}",
                name=f"{name!r}",
                near=did_you_mean(name, WRONG_RULES),
                wrong=joined(", ", sorted(WRONG_RULES)),
            )
        )
    wrong = SOUND.replace(**WRONG_RULES[name])
    return wrong.replace(**{field: HiddenRule(getattr(wrong, field)) for field in FUNCTIONS})
