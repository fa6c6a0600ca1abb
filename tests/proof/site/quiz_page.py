"""The page of the quizzes, made from data/quiz: what `rmqlab.quiz` asks in a notebook, here without a kernel."""

from __future__ import annotations

import os
from html import escape
from typing import TYPE_CHECKING
from unittest.mock import patch

from rmqlab.checkout import ROOT
from rmqlab.language import SETTING
from rmqlab_tools.course.in_language import translated
from rmqlab_tools.course.quiz import CHOICE_LETTERS, Question, quiz, verdict
from tests.proof.notebook_files import read

if TYPE_CHECKING:
    from pathlib import Path

QUIZ_INTRODUCTION = {
    "en": """# Quiz

Three questions for each lesson, the same as at the end of its notebook. Choose an answer. Your first choice counts.
Then you read what is right, and why people choose otherwise. Nothing is kept: open the page again to begin anew.

""",
    "zh": """# 测验

每课三道题，与该课 Notebook 末尾的相同。请选择一个答案，以第一次选择为准。选完会显示正确答案，以及选错的常见原因。
这里不保存任何记录：重新打开本页就可以重做。

""",
}
SCORE = {"en": "Right at the first try", "zh": "第一次就答对"}
SCRIPT = """```{{raw}} html
<p><output id="quiz-score" data-label="{label}" aria-live="off"></output></p>
<noscript><style>.quiz {{ display: none }}</style></noscript>
<script src="../_static/quiz.js" defer></script>
```

"""


def write(target: Path, language: str) -> None:
    """Write the page in ``language`` to the file ``target``."""
    parts = [QUIZ_INTRODUCTION[language], SCRIPT.format(label=escape(SCORE[language]))]
    with patch.dict(os.environ, {SETTING: language}):
        for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
            number = path.stem.partition("_")[0]
            if not (ROOT / "data" / "quiz" / f"{number}.json").is_file():  # 01b has none of its own
                continue
            title = translated(read(path), path.stem, language)["cells"][0]["source"].partition("\n")[0]
            parts.append(f"(quiz-{number})=\n## {title.lstrip('# ')}\n\n[{path.stem}]({path.name})\n\n")
            questions = (_question(number, at, question) for at, question in enumerate(quiz(number).questions, 1))
            parts.append(f"```{{raw}} html\n{''.join(questions)}\n```\n\n")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("".join(parts), encoding="utf-8")


def _question(number: str, at: int, question: Question) -> str:
    """A question with a button for each choice; what is said of a choice is shown once it is chosen."""
    name = f"quiz-{number}-{question.id}"
    buttons = "".join(
        f'<li><button type="button" data-choice="{choice}">{CHOICE_LETTERS[choice]}) {escape(given.text)}</button>'
        f"<template>{verdict(question, choice)}</template></li>"
        for choice, given in enumerate(question.choices)
    )
    return (
        f'<div class="quiz" id="{name}" role="group" aria-labelledby="{name}-asked" data-right="{question.answer}">'
        f'<p id="{name}-asked"><strong>{at}. {escape(question.question)}</strong></p><ul>{buttons}</ul>'
        f'<div role="status"></div></div><noscript>{question.html()}</noscript>\n'
    )
