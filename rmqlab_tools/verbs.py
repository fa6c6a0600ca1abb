"""The verbs as functions: what `import rmqlab` offers beside `Lab`. Each answers with an object, and prints nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from rmqlab.checkout import part
from rmqlab.errors import BadInput
from rmqlab.language import _, joined
from rmqlab.rule_table import no_version
from rmqlab.rules import DEFAULT_VERSION, RULES, Rules, require_rules, rules_of
from rmqlab.run.results import LabResult
from rmqlab_tools.search.defaults import (
    EVERY_MS,
    PAUSE_MS,
    PLANNED_MEMBERS,
    RUN_BUDGET,
    SAMPLES,
    SCHEDULE_BUDGET,
    SHORTENING_BUDGET,
)

if TYPE_CHECKING:
    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab.scenario.scenario import Scenario
    from rmqlab.scenario.schedule import Schedule
    from rmqlab_tools.course.articles.experiments import Result
    from rmqlab_tools.search.explorer.exploration import Exploration
    from rmqlab_tools.search.expressions.answer import Sql92
    from rmqlab_tools.search.lint.findings import GroupLint
    from rmqlab_tools.search.plan.results import Plan
    from rmqlab_tools.source.groups import SourceLint


def simulate(
    scenario: Scenario | Mapping[str, Any] | str | Path,
    *,
    seed: int | None = None,
    schedule: Schedule | None = None,
    version: str | None = None,
    rules: Rules | None = None,
    **settings: object,
) -> LabResult:
    """Run a scenario in virtual time from beginning to end; the answer has its tables, pictures and `lines()`.

    `scenario` is one from `Lab.scenario()`, its JSON as a dict or a text, or a file (`FILE#ID` chooses one). With a
    `schedule` a run is repeated. `version` is that of broker and clients, or `rules` are theirs; `settings` are the
    broker's by RocketMQ's names: without any, a broker.conf beside it counts.

    Args:
        seed: draw delays, wake-ups and timer phases from seed N

    >>> steps = [{"do": "start", "at": 0, "who": "A", "group": "G", "subscribe": {"T": {"type": "TAG", "expr": "a"}}},
    ...          {"do": "send", "at": 5000, "topic": "T", "messages": [{"body": "one", "tag": "a"}]},
    ...          {"do": "offsets", "at": 9000}]
    >>> simulate({"id": "one", "topics": {"T": 1}, "steps": steps}).fates()[0].fate
    'delivered'

    Raises:
        BadInput: it is no scenario, a setting or the version is unknown, the seed is no whole number, or the schedule
            is none or that of another run.
    """
    from rmqlab.sim.scenario_inputs import scenario_and_settings
    from rmqlab.sim.simulate import simulate as run
    from rmqlab_tools.search.explorer.timings import chosen_times
    from rmqlab_tools.search.expressions.remarks import warn

    converted, cluster = scenario_and_settings(scenario, settings, rules_of(version, rules))
    warn(_asked(converted), refused=True, sql92=cluster.rules.sql92)
    return LabResult(run(converted, cluster=cluster, **chosen_times(converted, seed=seed, schedule=schedule)))


def explore(
    scenario: Scenario | Mapping[str, Any] | str | Path,
    *,
    budget: int = RUN_BUDGET,
    seconds: float | None = None,
    seed: int = 0,
    samples: int = SAMPLES,
    shortening: int = SHORTENING_BUDGET,
    version: str | None = None,
    rules: Rules | None = None,
    **settings: object,
) -> Exploration:
    """Find every outcome that a scenario can have: `outcomes`, `exhausted`, properties that hold or fail.

    `version` is that of broker and clients, or `rules` are theirs; `settings` are the broker's by RocketMQ's names.

    Args:
        budget: at most about N runs
        seconds: begin no further run after S seconds (the budget alone ends it)
        seed: the first seed of the runs drawn by chance
        samples: runs drawn by chance, with times as recorded, beside a search that comes to its end
        shortening: at most N more runs to shorten the schedules of outcomes that only chance has found

    >>> steps = [{"do": "start", "at": 0, "who": "A", "group": "G", "subscribe": {"T": {"type": "TAG", "expr": "a"}}},
    ...          {"do": "offsets", "at": 9000}]
    >>> len(explore({"id": "one", "topics": {"T": 1}, "steps": steps}, budget=20).outcomes)
    1

    Raises:
        BadInput: it is no scenario, or a setting or the version is unknown.
    """
    from rmqlab.sim.scenario_inputs import scenario_and_settings
    from rmqlab_tools.search.explorer.explore import Explorer
    from rmqlab_tools.search.expressions.remarks import warn

    chosen, cluster = scenario_and_settings(scenario, settings, rules_of(version, rules))
    warn(_asked(chosen), refused=True, sql92=cluster.rules.sql92)
    search = Explorer(
        chosen, budget=budget, seconds=seconds, seed=seed, samples=samples, shortening=shortening, cluster=cluster,
        helpers=True,
    )  # fmt: skip
    return search.explore()


def _asked(scenario: Scenario) -> Iterator[tuple[str, str | None, str | None]]:
    """Who asks for what in a scenario."""
    from rmqlab_tools.search.expressions.scenario_doubts import asked

    return ((f"{name}:", kind, expression) for name, kind, expression in asked(scenario))


@overload
def lint(
    members: Mapping[str, Mapping[str, str]],
    *,
    group: str = "group",
    kind: str | Mapping[str, str] = "push",
    version: str | None = None,
) -> GroupLint: ...


@overload
def lint(
    members: str | Path | Sequence[str | Path],
    *,
    version: str | None = None,
    profiles: Sequence[str] = (),
    tests: bool = False,
) -> SourceLint: ...


def lint(
    members: Mapping[str, Mapping[str, str]] | str | Path | Sequence[str | Path],
    *,
    group: str = "group",
    kind: str | Mapping[str, str] = "push",
    version: str | None = None,
    profiles: Sequence[str] = (),
    tests: bool = False,
) -> GroupLint | SourceLint:
    """Compare what the members of a group subscribe, by meaning: `verdict`, differences, and a message that shows one.

    A folder instead of members, or several, is code that is read for all its groups: `groups`, `gaps`; `profiles` of
    Spring are active then, and `tests` are read too. The extra `source` brings what this needs.

    `members` maps a client to its topics and expressions; "SQL92:a > 3" is a condition, all else a tag expression.
    `version` is the broker's: later ones know more words in a condition. `kind` is how all members fetch, or those that
    it maps: push, lite, pop, grpc or simple; members that pop are judged by the rules of POP.

    >>> str(lint({"A": {"T": "tagA"}, "B": {"T": "tagB"}}).verdict)
    'inconsistent'
    >>> str(lint({"A": {"T": "a || b"}, "B": {"T": "b||a"}}).verdict)
    'consistent'

    Raises:
        BadInput: an expression that a broker of the version refuses, or a version that is not there.
    """
    from rmqlab.protocol.subscription_data import build_subscription
    from rmqlab_tools.search.lint.meaning import lint as compare
    from rmqlab_tools.search.lint.members import LintGroup, LintMember
    from rmqlab_tools.search.lint.modes import require_kind, rules_for
    from rmqlab_tools.search.plan.change import parse_subscription

    if isinstance(members, str | Path) or (isinstance(members, Sequence) and members):
        from rmqlab_tools.extras import require

        require("source")
        from rmqlab_tools.source.consumers import read_code_base
        from rmqlab_tools.source.groups import lint_sources

        sources = [members] if isinstance(members, str | Path) else members
        return lint_sources(read_code_base(map(Path, sources), profiles, tests=tests), version)
    compared = LintGroup(group)
    right = '{"A": {"T": "tagA"}, "B": {"T": "tagB"}}'
    if not isinstance(members, Mapping):
        raise BadInput(
            _(
                "lint: members are {members}; right is client, topic and expression: {right}",
                members=f"{members!r}",
                right=right,
            )
        )
    kinds = dict.fromkeys(members, kind) if isinstance(kind, str) else dict(kind)
    of_kinds = [
        LintMember(client, {}, kind=require_kind(kinds.get(client, "push"), _("lint: {client}", client=client)))
        for client in members
    ]
    rules = rules_for(of_kinds, version)
    for client, expressions in members.items():
        _require_text(_("lint: a client"), client)
        if not isinstance(expressions, Mapping):
            raise BadInput(
                _(
                    "lint: {who} subscribes {wishes}; right is client, topic and expression: {right}",
                    who=client,
                    wishes=f"{expressions!r}",
                    right=right,
                )
            )
        parsed = {topic: parse_subscription(text, f"{client}, {topic}:", rules) for topic, text in expressions.items()}
        compared.hear(
            LintMember(
                client,
                {
                    topic: build_subscription(topic, subscription.expr, subscription.type)
                    for topic, subscription in parsed.items()
                },
                kind=kinds.get(client, "push"),
            )
        )
    return compare(compared, rules)


def plan(
    old: str,
    new: str,
    *,
    kind: str = "push",
    members: int = PLANNED_MEMBERS,
    queues: int | None = None,
    pause_ms: int = PAUSE_MS,
    every_ms: int = EVERY_MS,
    among: bool = False,
    procedures: Sequence[str] | None = None,
    producers: Sequence[str] = ("keep", "wait"),
    budget: int = SCHEDULE_BUDGET,
    seconds: float | None = None,
    seed: int = 0,
    version: str | None = None,
) -> Plan:
    """Compare five ways to change a group's subscription from `old` to `new` while messages flow.

    The answer has `tried` (each way with its worst loss and whether every schedule was run) and `safe`. `procedures`:
    only those named. `version` is that of broker and clients.

    Args:
        old: what the group subscribes now: tagA, tagA||tagB, *, SQL92:a > 3
        new: what it shall subscribe
        kind: how its members fetch: push, grpc, pop or simple (push)
        members: of the group
        queues: of the topic (as many as members)
        pause_ms: between two restarts
        every_ms: between two rounds of messages, one of each kind for each queue
        among: send messages among the frames of each start too; a far larger space
        producers: keep: they send everything all the time; wait: what only NEW takes comes, and what only OLD takes
            ends, when the procedure says so (both)
        budget: runs of the search at most for each ({default}); runs drawn by chance and to shorten come on top
        seconds: stop the search after about S seconds (the budget alone ends it)
        seed: the first seed of those drawn by chance

    >>> [one.procedure.name for one in plan("tagA", "tagB", members=2, budget=2).tried if not one.lossless]
    ['one-by-one', 'widen-then-narrow', 'one-by-one']

    Raises:
        BadInput: a subscription that the broker would refuse, a number that cannot be, or a version that is not there.
    """
    from rmqlab_tools.search.expressions.remarks import warn
    from rmqlab_tools.search.lint.modes import rules_of_kind
    from rmqlab_tools.search.plan.change import parse_subscription
    from rmqlab_tools.search.plan.planner import plan as compare
    from rmqlab_tools.search.plan.procedures import Producers, Setting

    setting = Setting(members, members if queues is None else queues, pause_ms, every_ms, among, kind)
    rules = rules_of_kind(kind, version)
    given = [producers] if isinstance(producers, str | None) else list(producers)
    if not set(given) <= {*Producers}:
        raise BadInput(
            _(
                "producers is {producers}; it is a list of {Producers}",
                producers=f"{producers!r}",
                Producers=joined(", ", Producers),
            )
        )
    chosen = [producer for producer in Producers if producer in given]
    subscriptions = [(name, parse_subscription(text, name, rules)) for name, text in (("OLD", old), ("NEW", new))]
    warn(((name, subscription.type, subscription.expr) for name, subscription in subscriptions), sql92=rules.sql92)
    return compare(
        old, new, setting=setting, budget=budget, seed=seed, procedures=procedures, producers=chosen, seconds=seconds,
        rules=rules,
    )  # fmt: skip


def sql92(expression: str, properties: Mapping[str, str] | None = None, *, version: str = DEFAULT_VERSION) -> Sql92:
    """Compile a SQL92 filter as the broker does, and evaluate it on a message's `properties`, all of them texts.

    >>> sql92("a > 3", {"a": "5"}).matches
    True
    >>> sql92("a > 3", {"a": "five"}).value
    'NumberFormatException'
    >>> sql92("a > 3", {}).value
    'null'
    >>> sql92("a > ").accepted
    False

    Raises:
        BadInput: the version is unknown, or the expression or a property is no text.
    """
    from rmqlab.filter.sql92 import VERSIONS
    from rmqlab_tools.search.expressions.answer import answer

    known = next((known_version for known_version in VERSIONS if known_version == version), None)
    if known is None:
        raise no_version(version, RULES)
    _require_text("expression", expression)
    if not isinstance(properties, Mapping | None):
        raise BadInput(
            _('properties are {properties}; right is names and texts: {{"a": "5"}}', properties=f"{properties!r}")
        )
    for name, value in (properties or {}).items():
        _require_text(_("a property's name"), name)
        if not isinstance(value, str):
            raise BadInput(
                _(
                    "property {name} is {value}; a property of a message is a text, such as {value2}",
                    name=f"{name!r}",
                    value=f"{value!r}",
                    value2=f"{str(value)!r}",
                )
            )
    return answer(expression, properties, known)


def tags(expression: str) -> SubscriptionData:
    """The subscription that a tag expression makes: its set of tags, and of their hash codes.

    What is probably not meant, such as `tagA|tagB`, is said by an `ExpressionWarning`.

    >>> sorted(tags("tagA || tagB").tags_set)
    ['tagA', 'tagB']

    Raises:
        BadInput: no text, or nothing but separators.
    """
    from rmqlab.protocol.subscription_data import TAG, build_subscription
    from rmqlab_tools.search.expressions.remarks import warn

    _require_text("expression", expression)
    made = build_subscription(None, expression, TAG)
    warn([("tags:", TAG, expression)])
    return made


def reproduce(*only: str) -> list[Result]:
    """Run the articles' experiments (all, or those named: "E1"), article figure beside the figure here.

    >>> [result.agrees for result in reproduce("E1")]
    [True]

    Raises:
        BadInput: there is no such experiment.
    """
    from rmqlab_tools.course.articles.experiments import chosen, read_manifest, reproduced

    for name in only:
        _require_text(_("an experiment's name"), name)
    return list(reproduced(chosen(list(only) or None, read_manifest())))


def replay(folder: str | Path, *, rules: Rules | None = None) -> Any:
    """Feed a recording of a real broker to this one, and compare every answer: `requests`, `identical`, `differing`.

    The rules are those of the version that the recorded broker names. With other `rules` the answers that differ show
    what these rules change.

    >>> found = replay("data/golden/broker-4.8.0/noprop")
    >>> found.identical == found.requests > 0
    True

    Raises:
        BadInput: the folder holds no recording, or one of a version without rules; or the source tree is not there: a
            wheel lacks recordings to compare.
    """
    if rules is not None:
        require_rules(rules)
    return part("replay").replay(Path(folder), rules=rules)


def _require_text(what: str, value: object) -> None:
    if not isinstance(value, str):
        raise BadInput(_("{what} is {value}; right is a text", what=what, value=f"{value!r}"))
