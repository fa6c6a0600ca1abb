"""`rmqlab.check("01-predict", answer)` says whether the answer to an exercise is right.

If not, the first reply is a case in which the answer goes wrong, with what 4.8.0 does there, and a hint: what to think
about. `show="rule"` adds the rule, `show="evidence"` what happened, line by line. No step prints the answer, and
nothing is raised for a wrong one: "Run All" goes on. The reply to a right answer names its price, and a right rule goes
into the learner's `my_rules.py`. Either reply says how many lines our solution takes, where it is code.

A check runs the laboratory and judges by what happens in it; no answer is written down. Inside, a check raises
`CheckFailed`. What a task hints at, and its rule, are data (data/tasks/NN.toml).
"""

from __future__ import annotations

import html
import importlib
import inspect
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from rmqlab.checkout import data_path
from rmqlab.errors import BadInput, did_you_mean
from rmqlab.language import ENGLISH, N_, _, joined, language, ngettext, sentences, translate
from rmqlab.rules import Rules
from rmqlab_tools.course.article_places import places_in_words
from rmqlab_tools.course.progress import note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rmqlab_tools.show.evidence import EvidenceLine
    from rmqlab_tools.show.figure import Picture

    Check = Callable[[Any], str]

OPEN_ANSWER = _("Your turn: put your answer where `...` stands.")
THEIRS = _("That is the rule of 4.8.0 itself. Write the function yourself.")
OF_TASK = "of-task"
STEPS = ("hint", "rule", "evidence")
# In plain text these two are the same in every language: who counts tasks looks for them.
RIGHT_WORD, NOT_YET = N_("right."), N_("not yet.")
_ROWS = re.compile(r" ?[(（]((?:[SFH]-\d+(?:, |\.\.)?)+)[)）]")
_ROW = re.compile(r"([SFH])-(\d+)(?:\.\.[SFH]-(\d+))?")
_JAVA = re.compile(r"4\.8\.0 `([^`]+)`")


class CheckFailed(AssertionError):
    """An answer is not right yet.

    `problem` says what is wrong in this answer: a case, what the answer does there, and what 4.8.0 does. `hint` says
    what to think about, or which form an answer has. `rule` is a sentence, with its rows as in "(S-77, S-84)".
    `lines` (events) and `picture` are the evidence. None of them says what the right answer is. Without a hint
    both are those of the task, or of one of its cases if `case` names one; `OF_TASK` asks for the rule alone.
    """

    def __init__(
        self,
        hint: str = "",
        *,
        case: str = "",
        rule: str = "",
        problem: str = "",
        lines: Iterable[EvidenceLine | str] = (),
        picture: Picture | None = None,
    ) -> None:
        super().__init__()
        self.hint, self.case, self.rule, self.problem = hint, case, rule, problem
        self.lines, self.picture = list(lines), picture

    def __str__(self) -> str:
        """All that it says."""
        return "\n".join(map(str, filter(None, (self.hint, self.problem, self.rule, *map(str, self.lines)))))

    def of_task(self, name: str) -> CheckFailed:
        """Itself, with what the texts of the task say where it has no words of its own."""
        if self.hint and self.rule != OF_TASK:
            return self
        task = task_texts(name.partition("-")[0])[name]
        texts = task | task.get(self.case, {})
        self.hint = self.hint or texts["hint"]
        if self.rule in {"", OF_TASK}:
            rule = texts.get("rule", "")
            self.rule = rule if isinstance(rule, str) else " ".join(rule)
        return self


class Passed:
    """A right answer; shown as text."""

    def __init__(self, name: str, text: str) -> None:
        """`text` says what was checked."""
        self.name, self.text = name, text

    def __repr__(self) -> str:
        """One line."""
        return f"{self.name}: {RIGHT_WORD} {_(self.text)}"

    def _repr_html_(self) -> str | None:
        """In another language than English; else the one line is shown."""
        if language() == ENGLISH:
            return None
        return f"<b>{html.escape(self.name)}: {_(RIGHT_WORD)}</b> {html.escape(translate(self.text))}"


class NotYet:
    """An answer that is not right yet: what goes wrong, a hint, and as far as it was asked for rule and evidence."""

    def __init__(self, name: str, show: str, failed: CheckFailed) -> None:
        """`show` is one of `STEPS`."""
        self.name, self.problem, self.hint = name, failed.problem, failed.hint
        step = STEPS.index(show)
        self.rule = failed.rule if step >= STEPS.index("rule") else ""
        self.lines, self.picture = list[str](), None
        if show == "evidence":
            self.lines = [line if isinstance(line, str) else str(line) for line in failed.lines]
            self.picture = failed.picture
        there = {"rule": failed.rule, "evidence": failed.lines or failed.picture}
        self.next_step = next((later for later in STEPS[step + 1 :] if there[later]), None)
        self.size = size_of_solution(name)

    def __bool__(self) -> bool:
        """False: the answer is not right."""
        return False

    def more(self) -> str:
        """How to ask for more; empty when there is no more."""
        return f'rmqlab.check("{self.name}", answer, show="{self.next_step}")' if self.next_step else ""

    def _told(self) -> list[str]:
        """The hint, if it does not stand first, the rule as far as it was asked for, and the size of our solution."""
        parts = ((_("Hint:"), self.hint if self.problem else ""), (_("Rule:"), self.rule))
        said = [f"{_(head)} {_(text)}".replace("： ", "：") for head, text in parts if text]
        return [*said, *([str(self.size)] if self.size and self.problem else [])]

    def __repr__(self) -> str:
        """In lines."""
        shown = [f"{self.name}: {NOT_YET} {_(self.problem or self.hint)}", *self._told()]
        shown += [str(_("What shows it:")), *(f"  {_(line)}" for line in self.lines)] if self.lines else []
        shown += [repr(self.picture)] if self.picture else []
        return "\n".join([*shown, str(_("More: {more}", more=self.more()))] if self.next_step else shown)

    def _repr_html_(self) -> str:
        head = html.escape(translate(self.problem or self.hint))
        parts = [f"<b>{html.escape(self.name)}: {_(NOT_YET)}</b> {head}"]
        parts += ["<br>".join(html.escape(paragraph).splitlines()) for paragraph in self._told()]
        if self.lines:
            listed = "\n".join(map(translate, self.lines))
            parts.append(f"{_('What shows it:')!s}<pre>{html.escape(listed)}</pre>")
        if self.picture:
            parts.append(self.picture.html())
        if self.next_step:
            parts.append(f"{_('More:')} <code>{html.escape(self.more())}</code>")
        body = "".join(f'<div style="margin:0.3em 0">{part}</div>' for part in parts)
        return f'<div style="border-left:4px solid #a35200;padding-left:0.8em">{body}</div>'


def size_of_solution(name: str) -> str:
    """How many lines our solution of a task takes, in a sentence; empty where it is no code."""
    count = _sizes().get(name)
    return ngettext("Our solution: {count} line.", "Our solution: {count} lines.", count) if count else ""


@cache
def _sizes() -> dict[str, int]:
    """The lines of our solutions, counted in their notebooks when the exercises are made."""
    sizes: dict[str, int] = json.loads((data_path("tasks") / "sizes.json").read_text(encoding="utf-8"))
    return sizes


def checks(notebook: str) -> dict[str, Check]:
    """The checks of one notebook ("01"): name to function; each says what was right, or refuses with `CheckFailed`.

    Raises:
        BadInput: the notebook has no checks.
    """
    module = f"rmqlab_tools.course.checks_{notebook}"
    if not notebook.isdigit() or find_spec(module) is None:
        raise BadInput(
            _(
                "no checks for notebook {notebook}; names begin with the notebook's number, as 01-predict",
                notebook=f"{notebook!r}",
            )
        )
    by_name: dict[str, Check] = importlib.import_module(module).CHECKS
    return by_name


@cache
def task_texts(notebook: str) -> dict[str, dict[str, Any]]:
    """What the tasks of a notebook hint at, and their rules, by the task's name; a rule may be several sentences."""
    return tomllib.loads((data_path("tasks") / f"{notebook}.toml").read_text(encoding="utf-8"))


def judge(name: str, answer: object) -> str:
    """What was right about the answer to the exercise `name`.

    Raises:
        CheckFailed: it is not right yet.
        BadInput: no such exercise; the text names those there are.
    """
    known = checks(str(name).partition("-")[0])
    if name not in known:
        raise BadInput(
            _(
                "no exercise {name}{near}; there are: {known}",
                name=f"{name!r}",
                near=did_you_mean(name, known),
                known=joined(", ", known),
            )
        )
    if _is_open(answer):
        raise CheckFailed(OPEN_ANSWER)
    try:
        return known[name](answer)
    except CheckFailed as failed:
        raise failed.of_task(name) from failed.__cause__
    except Exception as error:  # whatever a learner's code raises, or an answer of a strange form: "Run All" goes on
        raise _strange(answer, error) from error


def _strange(answer: object, error: Exception) -> CheckFailed:
    """What is said of an answer that no check can judge: a function that stops, or a form that none asks for."""
    from rmqlab_tools.course.answers import BY_HAND, in_a_sentence

    if callable(answer):
        return CheckFailed(BY_HAND, problem=in_a_sentence(error, answer))
    if isinstance(error, BadInput):
        return CheckFailed(str(error))
    kind = type(answer).__name__
    return CheckFailed(
        _("An answer of this form ({kind}) is not asked for: see what stood in its place at first.", kind=kind)
    )


def check(name: str, answer: object, show: str = "hint") -> Passed | NotYet:
    """Judge the answer to the exercise `name`; `show="rule"` or `"evidence"` says more about a wrong one.

    >>> check("01-bug-hunt", 5)
    01-bug-hunt: not yet. Give a dict with the keys 'amber', 'basalt', 'coral', 'dune', 'ember'.

    Raises:
        BadInput: no such exercise, or no such step; the text names those there are.
    """
    if show not in STEPS:
        raise BadInput(
            _(
                "show={show}{near}; it is one of {steps}",
                show=f"{show!r}",
                near=did_you_mean(str(show), STEPS),
                steps=joined(", ", STEPS),
            )
        )
    try:
        said = judge(name, answer)
    except CheckFailed as failed:
        note("task", name.partition("-")[0], name, right=False)
        failed.rule = explained(failed.rule)
        return NotYet(name, show, failed)
    note("task", name.partition("-")[0], name, right=True)
    from rmqlab_tools.course.my_rules import keep

    return Passed(name, sentences(said, size_of_solution(name), keep(name, answer)))


def _is_open(answer: object) -> bool:
    """Whether something in it is still `...`."""
    if isinstance(answer, Mapping):
        return any(map(_is_open, answer.values()))
    if isinstance(answer, list | tuple | set | frozenset):
        return any(map(_is_open, answer))
    return answer is ...


def explained(rule: str) -> str:
    """The rule with its rows in words: which heading of which article it is under, and which Java method it is.

    >>> print(explained("The newest version holds the slot (S-77)."))
    The newest version holds the slot.
    See the article on subscriptions, Consumer订阅数据更新 (How a consumer's subscription is updated). In Java: \
ConsumerGroupInfo.updateSubscription; ConsumerManager.registerConsumer.
    """
    rows = [row for reference in _ROWS.findall(rule) for row in _rows(reference)]
    if not rows:
        return rule
    texts = places_in_words(rows)
    java = list(dict.fromkeys(method for method, method_rows in _java_of() if method_rows & set(rows)))
    if java:
        texts.append(_("In Java: {java}.", java=joined("; ", java)))
    return f"{_ROWS.sub('', translate(rule))}\n{sentences(*texts)}"


def _java_of() -> list[tuple[str, set[tuple[str, int]]]]:
    """The Java method of each rule that is a function, and its rows."""
    texts = [inspect.getdoc(rule.default) or "" for rule in fields(Rules) if inspect.isfunction(rule.default)]
    return [(match[1], set(_rows(text))) for text in texts for match in [_JAVA.search(text)] if match]


def _rows(text: str) -> list[tuple[str, int]]:
    """The rows that a text names: "S-76..S-78" are three."""
    return [
        (letter, number)
        for letter, first, last in _ROW.findall(text)
        for number in range(int(first), int(last or first) + 1)
    ]
