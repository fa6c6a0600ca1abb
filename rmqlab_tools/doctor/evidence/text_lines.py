"""Lines of mqadmin as its commands print them: columns below a heading, and what a command line names."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final

from rmqlab.protocol.codes import VERSION_CODES
from rmqlab.protocol.subscription_data import SQL92, TAG, SubscriptionData, SubscriptionSplitError, build_subscription
from rmqlab_tools.doctor.evidence.piece import Context
from rmqlab_tools.search.expressions.examine import looks_like_sql92

if TYPE_CHECKING:
    from collections.abc import Sequence

_COMMAND: Final = re.compile(
    r"^\s*(?:\S*[$#>%]\s*)?(?:sudo\s+)?(?:(?:sh|bash)\s+)?\S*mqadmin(?:\.sh|\.cmd)?\s+(\w+)\b(.*)$"
)
_OPTIONS: Final = {
    "-g": "group", "--groupName": "group", "--consumerGroup": "group", "--group": "group", "-t": "topic",
    "--topic": "topic", "-i": "client", "--clientId": "client", "-b": "broker", "--brokerAddr": "broker",
    "--brokerName": "broker", "-n": "namesrv", "--namesrvAddr": "namesrv",
}  # fmt: skip
_HEADING: Final = re.compile(r"#[A-Z][\w&]*(?: [A-Z]\w*)*")


def command_of(line: str) -> Context | None:
    """What a command line of mqadmin names; None for another line.

    >>> command_of("$ sh bin/mqadmin consumerProgress -n 10.0.0.1:9876 -g Orders").group
    'Orders'
    """
    match = _COMMAND.match(line)
    if match is None:
        return None
    try:
        words = shlex.split(match[2])
    except ValueError:  # a quote that is not closed
        words = match[2].split()
    fields: dict[str, str] = {}
    for number, word in enumerate(words):
        name, equals, value = word.partition("=")
        field = _OPTIONS.get(name)
        if field and equals:
            fields[field] = value
        elif field and number + 1 < len(words):
            fields[field] = words[number + 1]
    if not match[1].startswith("consumerStatus"):
        fields.pop("client", None)  # -i is an id of a message elsewhere, or a queue
    return Context(command=match[1], **fields)


def headings(line: str) -> list[str]:
    """The names of columns: "#Topic  #Broker Name" has Topic and Broker Name."""
    return [name[1:] for name in _HEADING.findall(line)]


def columns(line: str, names: Sequence[str]) -> dict[str, str] | None:
    """The cells of a line by the names of its columns; the last one takes what is left; None for too few.

    >>> columns("T1  broker-a  0  2026-11-21 08:33:53", ["Topic", "Broker Name", "QID", "LastTime"])["LastTime"]
    '2026-11-21 08:33:53'
    """
    cells = line.split(None, len(names) - 1)
    return dict(zip(names, map(str.strip, cells), strict=True)) if len(cells) == len(names) else None


def number(text: str | None) -> int | None:
    """A whole number, or None for another text."""
    return int(text) if text is not None and re.fullmatch(r"-?\d{1,19}", text) else None


def version_number(name: str) -> int:
    """The number of a version by its name (`MQVersion`); one that is not known is beyond the list."""
    return VERSION_CODES.index(name) if name in VERSION_CODES else len(VERSION_CODES) - 1


def printed_subscription(topic: str, expression: str) -> SubscriptionData:
    """A subscription of which topic and expression are printed; the type is not, and is taken from the expression."""
    try:
        return build_subscription(topic, expression, SQL92 if looks_like_sql92(expression) else TAG)
    except SubscriptionSplitError:
        return SubscriptionData(topic, expression)
