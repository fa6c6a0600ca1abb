"""Which subscription dropped a message, where the order of frames says what cannot be."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from msgspec import structs

from rmqlab.events import Filtered, Heartbeat, SubscriptionChanged, Unregister
from rmqlab.message.properties import PROPERTY_TAGS
from rmqlab.protocol.subscription_data import SQL92, TAG, SubscriptionData
from rmqlab.rules import DEFAULT_RULES
from rmqlab.run.fates import filter_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rmqlab.events import Event
    from rmqlab.run.facts import Fact
    from rmqlab.run.fates import SendRecord
    from rmqlab_tools.recordings.frame_facts import RunFromFrames


class LikelyDroppers:
    """Names a drop's subscription anew, where the subscription that the broker seemed to hold lets the message pass.

    The broker acts in another order than the recorder sees, and of two subscriptions of one version it keeps the one
    that it reads first. So it was the only other one that drops the message, a member's or the one held before; where
    there is none, or several, it is not known.
    """

    def __init__(self, account: RunFromFrames, sent: Iterable[SendRecord]) -> None:
        self._scenario_name = account.scenario_name
        self._properties = {(message.topic, message.queue, message.offset): message.properties for message in sent}
        # by group and topic: what the broker held before, and what each member asks for
        self._before: dict[tuple[str, str], SubscriptionData] = {}
        self._wishes: dict[tuple[str, str], dict[str, SubscriptionData]] = defaultdict(dict)

    def see(self, fact: Fact[Event]) -> Fact[Event]:
        """The next fact, as it is or with another subscription."""
        match fact.event:
            case Heartbeat(client=client, subscriptions=subscriptions):
                for group, data in subscriptions:
                    self._wishes[group, self._scenario_name(data.topic)][client] = data
            case Unregister(group=group, client=client):
                for key in self._wishes:
                    if key[0] == group:
                        self._wishes[key].pop(client, None)
            case SubscriptionChanged(group=group, topic=str(topic), old=SubscriptionData() as old):
                self._before[group, topic] = old
            case Filtered() as drop:
                return structs.replace(fact, event=self._anew(drop))
        return fact

    def _anew(self, drop: Filtered) -> Filtered:
        properties = self._properties.get((drop.topic, drop.queue, drop.offset))
        if properties is None or _drops(TAG if drop.stage == "tags_code" else SQL92, drop.subscription, properties):
            return drop
        key = drop.group, drop.topic
        before = [self._before[key]] if key in self._before else []
        droppers = {
            (data.is_tag, data.sub_string): data.sub_version
            for data in [*before, *self._wishes[key].values()]
            if _drops(data.expression_type, data.sub_string, properties)
        }
        if len(droppers) != 1:
            return structs.replace(drop, subscription=None, version=None)
        (((is_tag, text), version),) = droppers.items()
        return structs.replace(drop, stage="tags_code" if is_tag else "sql", subscription=text, version=version)


def _drops(kind: str | None, text: str | None, properties: Mapping[str, str]) -> bool:
    code = DEFAULT_RULES.tags_code(properties.get(PROPERTY_TAGS))
    return not filter_of(kind, text).broker_passes(code, None, properties)
