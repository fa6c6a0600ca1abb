"""The members of consumer groups and what each subscribes, from wherever it is written down.

A file may hold a group (`members`), heartbeats as clients send them (`consumerDataSet`), or scenarios (`steps`);
one JSON value, or one object a line. A folder is a recording: every heartbeat on its wire counts, a client's last one
most.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rmqlab.errors import BadInput, did_you_mean
from rmqlab.files import exists, is_dir, json_lines, json_value, read_text
from rmqlab.language import _, joined
from rmqlab.message.topics import MAX_QUEUES, RETRY_GROUP_TOPIC_PREFIX
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.header import NULL, FrameError
from rmqlab.protocol.heartbeat import ConsumeFromWhere, ConsumeType, HeartbeatData, MessageModel
from rmqlab.protocol.pop_headers import PopMessageRequestHeader
from rmqlab.protocol.subscription_data import TAG, SubscriptionData, SubscriptionSplitError, build_subscription
from rmqlab.scenario.fault_steps import Kill
from rmqlab.scenario.life_steps import Unsubscribe
from rmqlab.scenario.scenario import POPPING, PYTHON, Scenario, Start, Stop, Subscribe, convert_scenario
from rmqlab.sim.scenario_inputs import chosen_scenario
from rmqlab_tools.program import program
from rmqlab_tools.recordings.frames import read_recording
from rmqlab_tools.search.expressions.examine import looks_like_sql92
from rmqlab_tools.search.lint.modes import require_kind

if TYPE_CHECKING:
    from collections.abc import Iterable
    from enum import Enum

MEMBER_SETTINGS: Final[dict[str, type[Enum]]] = {
    "messageModel": MessageModel, "consumeType": ConsumeType, "consumeFromWhere": ConsumeFromWhere,
}  # fmt: skip
MEMBER_FIELDS: Final = ("client", "subscribe", "version", "kind", *MEMBER_SETTINGS)
GROUP_FIELDS: Final = ("group", "members", "queues")


@dataclass(frozen=True, slots=True)
class LintMember:
    """A member: its subscriptions by topic (retry topics left out) and the group's settings as it gives them.

    `sent_codes`: by topic the tags' codes of its heartbeat, where they are not those of the expression. `client` is
    its name here; `client_id` what it sends brokers, which several processes may share by mistake. `kind` is how it
    fetches, as scenarios name it: push, lite, pop, grpc or simple.
    """

    client: str
    subscriptions: Mapping[str, SubscriptionData]
    settings: Mapping[str, str] = field(default_factory=dict)
    sent_codes: Mapping[str, frozenset[int]] = field(default_factory=dict)
    client_id: str = ""
    kind: str = "push"
    unsaid: frozenset[str] | None = frozenset()
    """Topics that it subscribes in a way that is not known; None: it may subscribe any besides those that are."""

    def tells(self, topic: str) -> bool:
        """Whether it is known what it wants of a topic, and be it nothing."""
        return topic in self.subscriptions or (self.unsaid is not None and topic not in self.unsaid)

    @property
    def pops(self) -> bool:
        """Whether each of its requests carries its own expression, and it owns no queue."""
        return self.kind in POPPING

    def __post_init__(self) -> None:
        """A client that is named by its id needs no other."""
        if not self.client_id:
            object.__setattr__(self, "client_id", self.client)


@dataclass(slots=True)
class LintGroup:
    """A group: `heard` has its members by client, the one that sent its subscriptions last at the end.

    `queues`: numbers of queues by topic, as far as they are known.
    """

    name: str
    heard: dict[str, LintMember] = field(default_factory=dict)
    queues: dict[str, int] = field(default_factory=dict)

    @property
    def members(self) -> list[LintMember]:
        """The members in the order in which they were heard."""
        return list(self.heard.values())

    def hear(self, member: LintMember) -> None:
        """A member names what it subscribes now: what it named before is forgotten."""
        self.heard.pop(member.client, None)
        self.heard[member.client] = member

    def forget(self, client: str) -> None:
        """A member is gone."""
        self.heard.pop(client, None)


Groups = dict[str, LintGroup]


def read_groups(text: str) -> Groups:
    """The groups of FILE, FILE#ID or FILE#LINE (a scenario) or a recording's folder, by name.

    Raises:
        BadInput: it cannot be read, or has something that is none of the three; the text names where.
    """
    path = Path(text)
    if is_dir(path):
        return _of_frames(path)
    groups: Groups = {}
    if "#" in text and not exists(path):
        _of_scenario(groups, chosen_scenario(text)[1], alone=True)
        return groups
    for where, value in _values(path):
        if isinstance(value, dict) and "steps" in value:
            _of_scenario(groups, convert_scenario(value, where), alone=False)
        else:
            _of_value(groups, value, where)
    return groups


def groups_of_value(value: Any, where: str) -> Groups:
    """The groups of a JSON value: members, a heartbeat, a scenario, or a list of these; `where` names it in errors.

    Raises:
        BadInput: it is none of them, or has something wrong; the text names where.
    """
    groups: Groups = {}
    if isinstance(value, dict) and "steps" in value:
        _of_scenario(groups, convert_scenario(value, where), alone=False)
    else:
        _of_value(groups, value, where)
    return groups


def split_subscription(text: str, given: Mapping[str, Mapping[str, object]]) -> tuple[str, str, str]:
    """Client, topic and expression of a text `CLIENT:TOPIC=EXPRESSION`; `given`: by client what others before it say.

    Raises:
        BadInput: a text that is not like that, or a client's topic given twice.
    """
    place, equals, expression = text.partition("=")
    client, colon, topic = place.partition(":")
    if not (equals and colon and client and topic):
        raise BadInput(
            _("{text}: a subscription is CLIENT:TOPIC=EXPRESSION, such as A:TopicTest=tagA", text=f"{text!r}")
        )
    if topic in given.get(client, {}):
        raise BadInput(
            _(
                "{text}: {client} has a subscription of {topic} already; a client has one a topic",
                text=f"{text!r}",
                client=client,
                topic=topic,
            )
        )
    return client, topic, expression


def group_of(texts: Iterable[tuple[str, str]], name: str, kinds: Iterable[str] = ()) -> LintGroup:
    """A group from expression types and texts `CLIENT:TOPIC=EXPRESSION`; the client named last was heard last.

    `kinds` are KIND, for all members, or CLIENT=KIND.

    Raises:
        BadInput: a text that is not like that, a client's topic given twice, or a kind that there is not.
    """
    by_client: dict[str, dict[str, SubscriptionData]] = {}
    for kind, text in texts:
        client, topic, expression = split_subscription(text, by_client)
        if kind == TAG and looks_like_sql92(expression):
            right = _("write --sql92 {quote} (a tag of that name can be given in a file)", quote=shlex.quote(text))
            raise BadInput(
                _(
                    "{text}: {expression} looks like SQL92, and --member takes tags: {right}",
                    text=f"{text!r}",
                    expression=f"{expression!r}",
                    right=right,
                )
            )
        by_client.setdefault(client, {})[topic] = build_subscription(topic, expression, kind)
    kind_of = dict.fromkeys(by_client, "push")
    for text in sorted(kinds, key=lambda kind: "=" in kind):  # what is said of one member counts more
        client, equals, kind = text.rpartition("=")
        require_kind(kind, text)
        if equals and client not in by_client:
            raise BadInput(
                _("{text}: no member is called {client}{near}", text=f"{text!r}", client=client,
                  near=did_you_mean(client, by_client))
            )  # fmt: skip
        kind_of |= {client: kind} if equals else dict.fromkeys(by_client, kind)
    group = LintGroup(name)
    for client, subscriptions in by_client.items():
        group.hear(LintMember(client, subscriptions, kind=kind_of[client]))
    return group


def _values(path: Path) -> list[tuple[str, Any]]:
    text = read_text(path, _("a file of JSON (members, heartbeats or scenarios), or the folder of a code base"))
    try:
        return [(str(path), json_value(text))]
    except ValueError:
        rows = json_lines(text, str(path), wanted=_("one JSON value, or one object a line, is"))
        values = [(_("{path}, line {number}", path=path, number=number), value) for number, value in rows]
    if not values:
        raise BadInput(_("{path}: nothing in it; one JSON value, or one object a line, is needed", path=path))
    return values


def _of_value(groups: Groups, value: Any, where: str) -> None:
    if isinstance(value, list):
        if value and all(isinstance(item, dict) and "subscribe" in item for item in value):
            value = {"members": value}
        else:
            for index, item in enumerate(value):
                _of_value(groups, item, f"{where}[{index}]")
            return
    if not isinstance(value, dict):
        raise BadInput(
            _(
                "{where}: {value} is no group, heartbeat or scenario; an object is needed",
                where=where,
                value=f"{value!r}",
            )
        )
    if "members" in value:
        _of_members(groups, value, where)
    elif "consumerDataSet" in value or "clientID" in value:
        _of_beat(groups, json.dumps(value).encode(), where)
    else:
        known = joined(", ", sorted(value)[:6]) or _("none")
        meant = next(filter(None, (did_you_mean(name, ("members", "consumerDataSet", "steps")) for name in value)), "")
        raise BadInput(
            _(
                "{where}: fields {known}; a group has members, a heartbeat consumerDataSet, a scenario steps{meant}",
                where=where,
                known=known,
                meant=meant,
            )
        )


def _of_members(groups: Groups, value: dict[str, Any], where: str) -> None:
    _refuse_unknown(value, GROUP_FIELDS, where)
    name, members, queues = value.get("group", "group"), value["members"], value.get("queues", {})
    if not isinstance(name, str) or not isinstance(members, list):
        raise BadInput(
            _("{where}: group is a name and members a list of objects with client and subscribe", where=where)
        )
    counts = queues.values() if isinstance(queues, dict) else [0]
    if any(type(count) is not int or not 1 <= count <= MAX_QUEUES for count in counts):
        raise BadInput(
            _(
                '{where}: queues is {queues}; it maps topics to numbers of queues, 1 to {most}, such as {{"T": 4}}',
                where=where,
                queues=f"{queues!r}",
                most=MAX_QUEUES,
            )
        )
    group = groups.setdefault(name, LintGroup(name))
    group.queues.update(queues)
    listed: Counter[str] = Counter()
    for index, value_of in enumerate(members):
        member = _member(value_of, f"{where}: members[{index}]")
        listed[member.client_id] += 1
        if listed[member.client_id] > 1:  # one list names each process once: this is another one with the same id
            member = replace(member, client=f"{member.client_id} ({listed[member.client_id]})")
        group.hear(member)


def _member(value: Any, where: str) -> LintMember:
    if not isinstance(value, dict) or not isinstance(value.get("client"), str):
        raise BadInput(_("{where} is {value}; it needs client, a text, and subscribe", where=where, value=f"{value!r}"))
    _refuse_unknown(value, MEMBER_FIELDS, where)
    subscribe, version = value.get("subscribe"), value.get("version", 0)
    if not isinstance(subscribe, dict) or type(version) is not int:
        raise BadInput(
            _("{where}: subscribe maps topics to expressions, and version is a whole number (ms)", where=where)
        )
    subscriptions = {}
    for topic, wanted in subscribe.items():
        match wanted:
            case str(expression):
                kind = TAG
            case {"type": str(kind), "expr": str(expression)} if len(wanted) == 2:
                pass
            case _:
                right = '{"type": "SQL92", "expr": "a > 3"}'
                raise BadInput(
                    _(
                        "{where}: subscribe.{topic} is {wanted}; it is a tag expression, or {right}",
                        where=where,
                        topic=topic,
                        wanted=f"{wanted!r}",
                        right=right,
                    )
                )
        subscriptions[topic] = build_subscription(topic, expression, kind, version)
    settings = {name: value[name] for name in MEMBER_SETTINGS if name in value}
    for name, given in settings.items():
        known = MEMBER_SETTINGS[name].__members__
        if given not in list(known):
            raise BadInput(
                _(
                    "{where}: {name} is {given}; it is one of {known}",
                    where=where,
                    name=name,
                    given=f"{given!r}",
                    known=joined(", ", known),
                )
            )
    return LintMember(value["client"], subscriptions, settings, kind=require_kind(value.get("kind", "push"), where))


def _refuse_unknown(value: dict[str, Any], known: Iterable[str], where: str) -> None:
    unknown = [name for name in value if name not in known]
    if unknown:
        raise BadInput(
            _(
                "{where}: unknown field {unknown}; there are {known}{near}",
                where=where,
                unknown=f"{unknown[0]!r}",
                known=joined(", ", known),
                near=did_you_mean(unknown[0], known),
            )
        )


def _of_beat(groups: Groups, body: bytes, where: str) -> None:
    try:
        beat = HeartbeatData.decode(body)
    except FrameError as error:
        raise BadInput(_("{where}: no heartbeat: {error}", where=where, error=error)) from error
    for data in beat.consumer_data_set:
        name = str(data.group_name)
        kinds = (data.message_model, data.consume_type, data.consume_from_where)
        settings = {key: value.name for key, value in zip(MEMBER_SETTINGS, kinds, strict=True) if value is not NULL}
        sent = {
            str(subscription.topic): subscription
            for subscription in data.subscription_data_set
            if not str(subscription.topic).startswith(RETRY_GROUP_TOPIC_PREFIX)
        }
        meant = {topic: as_meant(subscription) for topic, subscription in sent.items()}
        codes = {
            topic: frozenset(subscription.code_set)
            for topic, subscription in sent.items()
            if subscription.code_set != meant[topic].code_set
        }
        groups.setdefault(name, LintGroup(name)).hear(LintMember(str(beat.client_id), meant, settings, codes))


def as_meant(sent: SubscriptionData) -> SubscriptionData:
    """A subscription with the tags and codes of its expression, whatever a client of another language sent for them."""
    if sent.class_filter_mode or not sent.is_tag:
        return replace(sent, tags_set=set(), code_set=set())
    try:
        return build_subscription(sent.topic, sent.sub_string, sent.expression_type, sent.sub_version)
    except SubscriptionSplitError:  # nothing but separators: no tag is named
        return replace(sent, tags_set=set(), code_set=set())


def text_key(data: SubscriptionData) -> tuple[object, ...]:
    """Type, text and mode: what two subscriptions have in common that filter alike without a further look."""
    return "TAG" if data.is_tag else data.expression_type, data.sub_string, data.class_filter_mode


def _of_scenario(groups: Groups, scenario: Scenario, *, alone: bool) -> None:
    """The members that run at the end; of several scenarios each has groups of its own, as on the recordings' wire."""
    mine: Groups = {}
    for step in scenario.steps:
        match step:
            case Start(who=client):
                name = step.group if alone or scenario.plain_names else f"{step.group}_{scenario.id}"
                group = mine.setdefault(name, LintGroup(name, queues=dict(scenario.topics)))
                subscriptions = {
                    topic: build_subscription(topic, subscription.expr, subscription.type, step.at)
                    for topic, subscription in step.subscribe.items()
                }
                kind = PYTHON.get(step.kind, step.kind)
                modes = (
                    "BROADCASTING" if step.broadcasts else "CLUSTERING",
                    "CONSUME_ACTIVELY" if kind in {"lite", "simple"} else "CONSUME_PASSIVELY",
                    f"CONSUME_FROM_{step.from_.upper()}_OFFSET",
                )
                settings = dict(zip(MEMBER_SETTINGS, modes, strict=True))
                group.hear(LintMember(client, subscriptions, settings, kind=kind))
            case Subscribe(who=client, topic=topic):
                again = build_subscription(topic, step.expr, step.type, step.at)
                for group in mine.values():
                    member = group.heard.get(client)
                    if member is not None:
                        group.hear(replace(member, subscriptions={**member.subscriptions, topic: again}))
            case Unsubscribe(who=client, topic=topic):
                for group in mine.values():
                    member = group.heard.get(client)
                    if member is not None:
                        left = {
                            subscribed_topic: data
                            for subscribed_topic, data in member.subscriptions.items()
                            if subscribed_topic != topic
                        }
                        group.hear(replace(member, subscriptions=left))
            case Stop(who=client) | Kill(who=client):
                for group in mine.values():
                    group.forget(client)
            case _:
                pass
    groups.update(mine)


def _of_frames(folder: Path) -> Groups:
    groups: Groups = {}
    clients: dict[int, str] = {}
    popping: set[tuple[str, str]] = set()
    for number, line in enumerate(read_recording(folder).lines, 1):
        command = line.command
        if line.to_broker and command is not None and command.code == RequestCode.HEART_BEAT and command.body:
            _of_beat(groups, command.body, _("{folder}, frame {number}", folder=folder, number=number))
            clients[line.conn] = str(HeartbeatData.decode(command.body).client_id)
        elif line.to_broker and command is not None and command.code == RequestCode.POP_MESSAGE:
            popping.add(
                (str(command.decode_header(PopMessageRequestHeader).consumer_group), clients.get(line.conn, ""))
            )
    for name, client in popping:
        member = groups[name].heard.get(client) if name in groups else None
        if member is not None:  # a proxy pops for clients whose heartbeats are not in these frames
            groups[name].heard[client] = replace(member, kind="pop")
    if not groups:
        raise BadInput(
            _(
                "{folder}: no heartbeat of a consumer in this recording; record one with {program} tap",
                folder=folder,
                program=program(),
            )
        )
    return groups
