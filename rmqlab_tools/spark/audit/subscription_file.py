"""A file of subscriptions, as an audit is given it (`subscriptions` says what its lines hold)."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput, did_you_mean
from rmqlab.filter.filter import compile_expression
from rmqlab.language import _
from rmqlab.protocol.subscription_data import SQL92, TAG, build_subscription
from rmqlab.rules import DEFAULT_RULES, Rules
from rmqlab_tools.recordings.frames import frames_folder
from rmqlab_tools.search.expressions.examine import looks_like_sql92
from rmqlab_tools.spark.audit.event_subscriptions import of_events
from rmqlab_tools.spark.audit.frame_subscriptions import of_frames
from rmqlab_tools.spark.audit.owners import COMPUTED
from rmqlab_tools.spark.audit.subscriptions import (
    ALWAYS,
    AVG,
    NEVER,
    BrokerSubscription,
    ClientSubscription,
    Present,
    Subscriptions,
    flag_field,
    json_lines,
    reason,
    text_field,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab_tools.spark.audit.subscriptions import Key


LINE_FIELDS = (
    "group",
    "topic",
    "type",
    "expr",
    "client",
    "until",
    "post",
    "held",
    "from",
    "clients",
    "strategy",
    "reset",
)
RIGHT_FIELDS = '{"group": "G", "topic": "T", "type": "TAG", "expr": "tagA || tagB"}'


def read_subscriptions(path: str | Path, rules: Rules = DEFAULT_RULES) -> Subscriptions:
    """Read a file, a folder of events, scenarios, or a recording of frames; `rules` are those of the broker's version.

    Raises:
        BadInput: naming what is wrong.
    """
    frames = frames_folder(Path(path))
    if frames is not None:
        return of_frames(frames)
    return of_lines(list(json_lines(path)), str(path), rules)


def of_lines(lines: Sequence[tuple[str, dict[str, Any]]], name: str, rules: Rules = DEFAULT_RULES) -> Subscriptions:
    """Read the lines of a file, each with the place where it stands; a condition has the words that `rules` know.

    Raises:
        BadInput: naming what is wrong.
    """
    if any("ev" in line or "steps" in line for _, line in lines):
        return of_events(lines)
    client_subscriptions: dict[Key, list[ClientSubscription]] = defaultdict(list)
    broker_subscriptions: dict[Key, list[BrokerSubscription]] = defaultdict(list)
    present: dict[str, list[Present]] = defaultdict(list)
    reset: dict[Key, tuple[int, ...]] = {}
    for place, line in lines:
        try:
            _refuse_misspelled(line)
            group, since = text_field(line, "group"), _ms(line, "from", ALWAYS)
            if "clients" in line:
                present[group].append(Present(since, _clients(line), _strategy(line)))
                continue
            key = group, text_field(line, "topic")
            if "reset" in line:
                reset[key] = (*reset.get(key, ()), _ms(line, "reset"))
                continue
            kind, expression = _kind(line), text_field(line, "expr")
            _refuse_what_no_client_can_ask(line, kind, expression, rules)
            until, post, client = _ms(line, "until", NEVER), flag_field(line, "post"), text_field(line, "client", "")
            if flag_field(line, "held"):
                broker_subscriptions[key].append(BrokerSubscription(kind, expression, since))
            else:
                client_subscriptions[key].append(ClientSubscription(client, kind, expression, until, post, since))
        except (BadInput, KeyError, TypeError, ValueError) as error:
            raise BadInput(
                _("{place}: {reason}; right would be {right}", place=place, reason=reason(error), right=RIGHT_FIELDS)
            ) from error
    if not lines:
        raise BadInput(_("{name}: no line in it; one would be {right}", name=name, right=RIGHT_FIELDS))
    for slots in broker_subscriptions.values():
        slots.sort(key=lambda subscription: subscription.since)
    for moments in present.values():
        moments.sort()
    return Subscriptions(
        dict(client_subscriptions), dict(broker_subscriptions), frozenset(client_subscriptions), dict(present), reset
    )


def _refuse_misspelled(line: dict[str, Any]) -> None:
    """A field that is nearly one of ours: taken as none, it would leave something unknown in silence."""
    for name in line:
        meant = did_you_mean(name, LINE_FIELDS) if name not in LINE_FIELDS else ""
        if meant:
            raise ValueError(_("there is no field {name} here{meant}", name=f"{name!r}", meant=meant))


def _ms(line: dict[str, Any], name: str, default: int | None = None) -> int:
    value = line[name] if default is None else line.get(name, default)
    # a column of a frame in which some are missing has whole numbers as floats
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    if isinstance(whole, bool) or not isinstance(whole, int) or not ALWAYS <= whole <= NEVER:
        raise ValueError(_("{name} is {value}, and epoch ms are wanted", name=f"{name!r}", value=f"{value!r}"))
    return whole


def _clients(line: dict[str, Any]) -> tuple[str, ...]:
    clients = line["clients"]
    if not isinstance(clients, list | tuple) or not all(isinstance(client, str) for client in clients):
        raise TypeError(_("'clients' is {clients}, and a list of client ids is wanted", clients=f"{clients!r}"))
    return tuple(sorted(clients))


def _strategy(line: dict[str, Any]) -> str:
    """A strategy whose owners cannot be computed is fine: then they are not known."""
    strategy = text_field(line, "strategy", AVG)
    meant = "" if strategy in COMPUTED else did_you_mean(strategy, COMPUTED)
    if meant:
        raise ValueError(_("strategy {strategy} is not known{meant}", strategy=f"{strategy!r}", meant=meant))
    return strategy


def _refuse_what_no_client_can_ask(line: dict[str, Any], kind: str, expression: str, rules: Rules) -> None:
    if "type" not in line and looks_like_sql92(expression):
        raise ValueError(
            _(
                '{expression} looks like SQL92, and "type" is missing; add "type": "SQL92" (or "TAG")',
                expression=f"{expression!r}",
            )
        )
    subscription = build_subscription("T", expression, kind)
    if not subscription.is_tag:
        compile_expression(kind, expression, rules.sql92)


def _kind(line: dict[str, Any]) -> str:
    kind = str(line.get("type", TAG))
    if kind not in {TAG, SQL92}:
        raise ValueError(
            _("type {kind} is neither TAG nor SQL92{meant}", kind=f"{kind!r}", meant=did_you_mean(kind, (TAG, SQL92)))
        )
    return kind
