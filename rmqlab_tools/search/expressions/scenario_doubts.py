"""What is probably not meant by the subscriptions of a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.language import _, joined
from rmqlab.scenario.scenario import Start, Subscribe
from rmqlab_tools.search.expressions.remarks import REFUSED_CODE, doubts, told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.filter.sql92.tokens import Version
    from rmqlab.scenario.scenario import Scenario
    from rmqlab_tools.search.expressions.hints import Hint

Asked = tuple[str, str | None, str | None]


def asked(scenario: Scenario) -> Iterator[Asked]:
    """Who subscribes what: a name for people, the expression's type, the expression; each text once a topic."""
    seen = set()
    for step in scenario.steps:
        if not isinstance(step, Start | Subscribe):
            continue
        subscriptions = step.subscribe.items() if isinstance(step, Start) else [(step.topic, step)]
        for topic, wish in subscriptions:
            key = topic, wish.type, wish.expr
            if key not in seen:
                seen.add(key)
                yield f"{step.who}, {topic}", wish.type, wish.expr


def refused(step: Start | Subscribe) -> str:
    """What was probably meant by what the broker refuses of one step, to be put after its own words; or nothing."""
    subscriptions = step.subscribe.values() if isinstance(step, Start) else [step]
    hints = [hint for wish in subscriptions for hint in doubts(wish.type, wish.expr) if hint.code == REFUSED_CODE]
    meant = [joined("; ", [text for text in (hint.advice, _write(hint)) if text]) for hint in hints]
    return "".join(_(" ({meant})", meant=text_meant) for text_meant in meant if text_meant)


def _write(hint: Hint) -> str:
    return "" if hint.write is None else _("write {right}", right=hint.write)


def doubtful(scenario: Scenario, sql92: Version) -> Iterator[str]:
    """A sentence for each doubt, with who subscribes what; `sql92` is the version whose words a condition has."""
    for name, kind, expression in asked(scenario):
        for text in told(kind, expression, sql92):
            values = {"name": name, "kind": kind or "TAG", "expression": repr(expression), "text": text}
            yield _("{name}: {kind} {expression}: {text}", **values)
