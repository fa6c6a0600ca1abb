"""`rmqlab.quiz("01")`: three questions about a lesson. The first answer counts, and then each choice says why.

The questions are data (data/quiz/NN.json); tests/course/test_quiz.py computes every right answer from the core. Where
a kernel runs the choices are buttons; a page without one has the same questions with the answers folded below them.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from rmqlab.checkout import data_path
from rmqlab.errors import BadInput
from rmqlab.language import _, joined, translate
from rmqlab_tools.course.check import explained
from rmqlab_tools.course.progress import note

if TYPE_CHECKING:
    from ipywidgets import VBox

QUIZ_WIDGET_MIME = "application/vnd.jupyter.widget-view+json"
CHOICE_LETTERS = "abcd"
SHOW = _("Show the answer")
SAID_RIGHT, SAID_WRONG = _("Right."), _("No.")
# A button shows one line unless told; these are sentences.
STYLE = """<style>
.jupyter-button.rmqlab-choice { white-space: normal; height: auto; min-height: 2.4em; text-align: left;
  line-height: 1.4; padding: 0.4em 0.8em; font-size: 14px }
.jupyter-button.rmqlab-choice:disabled { opacity: 1 }
</style>"""


class QuizChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer: its text, the value that a test compares, and what is said of it."""

    text: str
    value: str | int
    says: str


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question with its choices; `right` is the value of one of them, `rows` are those of the articles."""

    id: str
    question: str
    right: str | int
    rows: list[str]
    choices: list[QuizChoice]

    @property
    def answer(self) -> int:
        """The number of the right choice, from 0."""
        return next(number for number, choice in enumerate(self.choices) if choice.value == self.right)

    @property
    def rule(self) -> str:
        """The rows in words: of which article, and which Java method it is; empty where there are none."""
        return explained(f" ({', '.join(self.rows)})").strip() if self.rows else ""

    def __str__(self) -> str:
        """The question and its choices as text, without the answer."""
        choices = (f"   {letter}) {choice.text}" for letter, choice in zip(CHOICE_LETTERS, self.choices, strict=False))
        return "\n".join(map(str, [self.question, *choices]))

    def html(self) -> str:
        """The question and its choices; what is said of each choice is folded. Needs no script."""
        choices = "".join(f"<li>{html.escape(choice.text)}</li>" for choice in self.choices)
        mark = f"<strong>{_(SAID_RIGHT)}</strong> "
        said = "".join(
            f"<li>{mark if number == self.answer else ''}{html.escape(choice.says)}</li>"
            for number, choice in enumerate(self.choices)
        )
        letters = '<ol type="a">'
        return (
            f"<p><strong>{html.escape(self.question)}</strong></p>{letters}{choices}</ol>"
            f"<details><summary>{_(SHOW)}</summary><p>{CHOICE_LETTERS[self.answer]}) "
            f"{html.escape(self.choices[self.answer].text)}</p>{letters}{said}</ol>{_small(self.rule)}</details>"
        )


class Quiz:
    """The questions of a lesson, to be answered: `answered` has the number of the first choice by question id."""

    def __init__(self, name: str, questions: list[Question]) -> None:
        """`name` is the lesson's number."""
        self.name, self.questions = name, questions
        self.answered: dict[str, int] = {}

    def answer(self, number: int, choice: int) -> str:
        """Answer question `number` (from 1) with a choice (from 1), and read what is said of it, as HTML.

        The first answer stays: another one is judged as the first.

        Raises:
            BadInput: there is no such question, or it has no such choice.
        """
        if number not in range(1, len(self.questions) + 1):
            raise BadInput(
                _(
                    "no question {number}: they have the numbers 1 to {questions}",
                    number=f"{number!r}",
                    questions=len(self.questions),
                )
            )
        question = self.questions[number - 1]
        if choice not in range(1, len(question.choices) + 1):
            raise BadInput(
                _(
                    "no choice {choice}: they have the numbers 1 to {choices}",
                    choice=f"{choice!r}",
                    choices=len(question.choices),
                )
            )
        if question.id not in self.answered:
            note("quiz", self.name, question.id, right=choice - 1 == question.answer)
        first = self.answered.setdefault(question.id, choice - 1)
        return verdict(question, first)

    def __repr__(self) -> str:
        """The questions and choices as text, without the answers."""
        return "\n".join(f"{number}. {question}" for number, question in enumerate(self.questions, 1))

    def _repr_html_(self) -> str:
        return f"<ol>{''.join(f'<li>{question.html()}</li>' for question in self.questions)}</ol>"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        """Buttons where a kernel runs; the folded answers elsewhere."""
        view = self.box()._repr_mimebundle_()[QUIZ_WIDGET_MIME]
        return {QUIZ_WIDGET_MIME: view, "text/html": self._repr_html_(), "text/plain": repr(self)}

    def box(self) -> VBox:
        """The questions with a button for each choice."""
        import ipywidgets

        boxes = (self._asked(number) for number in range(1, len(self.questions) + 1))
        return ipywidgets.VBox([ipywidgets.HTML(STYLE), *boxes])

    def _asked(self, number: int) -> VBox:
        import ipywidgets

        question = self.questions[number - 1]
        head = ipywidgets.HTML(f"<p><strong>{number}. {html.escape(question.question)}</strong></p>")
        said = ipywidgets.HTML()
        buttons = []
        for letter, choice in zip(CHOICE_LETTERS, question.choices, strict=False):
            button = ipywidgets.Button(description=f"{letter}) {choice.text}", layout={"width": "auto"})
            button.add_class("rmqlab-choice")
            buttons.append(button)

        def clicked(button: object) -> None:
            chosen = buttons.index(button)
            said.value = f'<div role="status">{self.answer(number, chosen + 1)}</div>'
            for at, each_button in enumerate(buttons):
                each_button.disabled = True
                each_button.icon = "check" if at == question.answer else "times" if at == chosen else ""

        for button in buttons:
            button.on_click(clicked)
        return ipywidgets.VBox([head, *buttons, said])


def verdict(question: Question, choice: int) -> str:
    """What is said of a choice (from 0), as HTML: whether it is right, why one may take it, and what is right."""
    right = question.choices[question.answer]
    if choice == question.answer:
        return f"<p><strong>{_(SAID_RIGHT)}</strong> {html.escape(right.says)}</p>{_small(question.rule)}"
    return (
        f"<p><strong>{_(SAID_WRONG)}</strong> {html.escape(question.choices[choice].says)}</p>"
        f"<p><strong>{CHOICE_LETTERS[question.answer]}) {html.escape(right.text)}</strong> "
        f"{html.escape(right.says)}</p>"
        f"{_small(question.rule)}"
    )


def quiz(name: str) -> Quiz:
    """Three questions about a lesson, by its number: buttons in a notebook, text elsewhere.

    >>> mine = quiz("01")
    >>> print(repr(mine).splitlines()[1])
       a) 8
    >>> mine.answer(1, 3)[:24]
    '<p><strong>Right.</stron'

    Raises:
        BadInput: no lesson has this number; the text names those there are.
    """
    folder = data_path("quiz")
    known = sorted(path.stem for path in folder.glob("*.json"))
    if name not in known:
        raise BadInput(
            _(
                "no quiz {name}; a quiz is named by its lesson's number: {known}",
                name=f"{name!r}",
                known=joined(", ", known),
            )
        )
    record = msgspec.json.decode((folder / f"{name}.json").read_bytes())
    return Quiz(name, [_told(question) for question in msgspec.convert(record["questions"], list[Question])])


def _told(question: Question) -> Question:
    """The question in the reader's language."""
    choices = [replace(choice, text=translate(choice.text), says=translate(choice.says)) for choice in question.choices]
    return replace(question, question=translate(question.question), choices=choices)


def _small(text: str) -> str:
    return f"<p><small>{html.escape(text)}</small></p>" if text else ""
