"""What `rmqlab.check` answers: `Passed`, or `NotYet` with as much help as was asked for."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from rmqlab.language import ENGLISH, language, translate

if TYPE_CHECKING:
    from rmqlab.lessons.check import CheckFailed

STEPS = ("hint", "rule", "evidence")
# In plain text these two are the same in every language: who counts tasks looks for them.
RIGHT, NOT_YET = "right.", "not yet."


class Passed:
    """A right answer; shown as text."""

    def __init__(self, name: str, text: str) -> None:
        """`text` says what was checked."""
        self.name, self.text = name, text

    def __repr__(self) -> str:
        """One line."""
        return f"{self.name}: {RIGHT} {translate(self.text)}"

    def _repr_html_(self) -> str | None:
        """In another language than English; else the one line is shown."""
        if language() == ENGLISH:
            return None
        return f"<b>{html.escape(self.name)}: {translate(RIGHT)}</b> {html.escape(translate(self.text))}"


class NotYet:
    """An answer that is not right yet: a hint, and up to the step that was asked for the rule and the evidence."""

    def __init__(self, name: str, show: str, failed: CheckFailed) -> None:
        """`show` is one of ``STEPS``."""
        self.name, self.hint = name, failed.hint
        step = STEPS.index(show)
        self.rule = failed.rule if step >= STEPS.index("rule") else ""
        self.problem, self.lines, self.picture = "", list[str](), None
        if show == "evidence":
            self.problem, self.lines, self.picture = failed.problem, list(map(str, failed.lines)), failed.picture
        there = {"rule": failed.rule, "evidence": failed.problem or failed.lines}
        self.next_step = next((one for one in STEPS[step + 1 :] if there[one]), None)

    def __bool__(self) -> bool:
        """False: the answer is not right."""
        return False

    def more(self) -> str:
        """How to ask for more; empty when there is no more."""
        return f'rmqlab.check("{self.name}", answer, show="{self.next_step}")' if self.next_step else ""

    def __repr__(self) -> str:
        """In lines."""
        shown = [f"{self.name}: {NOT_YET} {translate(self.hint)}"]
        shown += [translate(f"Rule: {self.rule}")] if self.rule else []
        shown += [translate(f"In your answer: {self.problem}")] if self.problem else []
        shown += [translate("What shows it:"), *(f"  {translate(line)}" for line in self.lines)] if self.lines else []
        shown += [repr(self.picture)] if self.picture else []
        return "\n".join([*shown, translate(f"More: {self.more()}")] if self.next_step else shown)

    def _repr_html_(self) -> str:
        parts = [f"<b>{html.escape(self.name)}: {translate(NOT_YET)}</b> {html.escape(translate(self.hint))}"]
        if self.rule:
            parts.append("<br>".join(html.escape(translate(f"Rule: {self.rule}")).splitlines()))
        if self.problem:
            parts.append(html.escape(translate(f"In your answer: {self.problem}")))
        if self.lines:
            listed = "\n".join(map(translate, self.lines))
            parts.append(f"{translate('What shows it:')}<pre>{html.escape(listed)}</pre>")
        if self.picture:
            parts.append(self.picture.html())
        if self.next_step:
            parts.append(f"{translate('More:')} <code>{html.escape(self.more())}</code>")
        body = "".join(f'<div style="margin:0.3em 0">{part}</div>' for part in parts)
        return f'<div style="border-left:4px solid #a35200;padding-left:0.8em">{body}</div>'
