"""What is known of one scenario, simulated or recorded: events, facts, fates, and the messages that were sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.lab.facts import Fact
from rmqlab.lab.fates import MessageFate, SentMessage
from rmqlab.lab.run import Event
from rmqlab.lab.scenario import Scenario, Send
from rmqlab.message.properties import PROPERTY_KEYS, PROPERTY_TAGS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.lab.run import Run


@dataclass(slots=True)
class Account:
    """What is known of one scenario, or of one recording of a tap: its events, facts and fates, and what was sent.

    All names are short: without `suffix`. `sent` has a message for each event "sent". A tap's scenario has no steps.
    """

    scenario: Scenario
    suffix: str
    sent: list[SentMessage]
    events: list[Event]
    facts: list[Fact]
    fates: list[MessageFate]


def account_of(run: Run) -> Account:
    """A simulated run as an account."""
    scenario, events = run.scenario, run.events
    sent = sent_messages(scenario, events)
    return Account(scenario, f"_{scenario.id}", sent, events, run.facts.facts, run.fates)


def sent_messages(scenario: Scenario, events: Iterable[Event]) -> list[SentMessage]:
    """Every message that was sent, with the topic and the properties that its step gave it.

    Raises:
        BadInput: an event tells of a message that no step sends.
    """
    outgoing = [(step.topic, one) for step in scenario.steps if isinstance(step, Send) for one in step.messages]
    found = []
    for event in (event for event in events if event["ev"] == "sent"):
        # a send that failed has no event: go on to the step whose message this is
        while outgoing and outgoing[0][1].body != event["body"]:
            outgoing.pop(0)
        if not outgoing:
            raise BadInput(f"scenario {scenario.id!r}: no step sends {event['body']!r}")
        topic, message = outgoing.pop(0)
        known = {PROPERTY_TAGS: message.tag, PROPERTY_KEYS: message.keys}
        properties = {**(message.props or {}), **{name: text for name, text in known.items() if text is not None}}
        queue, offset, body, tag = (event[name] for name in ("queue", "offset", "body", "tag"))
        found.append(SentMessage(topic, queue, offset, body, tag, event["msgId"], event["t"], properties))
    return found
