"""Guess first: nothing is shown before the guess is entered, and then it stands beside what came out."""

from __future__ import annotations

import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_notebook

import rmqlab
from rmqlab.errors import BadInput
from rmqlab_tools.course.progress import GuessFirst
from tests.proof.notebook_files import execute


def test_an_open_guess_stops_with_one_line():
    with pytest.raises(GuessFirst) as caught:
        rmqlab.guess(A=..., B=4, C=...)
    assert caught.value._render_traceback_() == [
        "Enter your guess first: A, C. Then run this cell again, and go on below."
    ]


def test_a_guess_is_a_mapping():
    guess = rmqlab.guess(A=4, B=0)
    assert dict(guess) == {"A": 4, "B": 0}
    assert guess["A"] == 4
    assert len(guess) == 2


def test_what_came_out_stands_beside():
    guess = rmqlab.guess(A=4, share=0.333, who="both")
    table = guess.beside(A=2, share=1 / 3, who="Both")
    assert [row[3] for row in table.rows] == ["no", "right", "right"]
    assert table.marked == {0}
    assert "2 of 3 right" in table.html()
    assert [row[3] for row in rmqlab.guess(A=2.0).beside(A=np.int64(2)).rows] == ["right"]
    with pytest.raises(BadInput, match=r"'shar' was not guessed; did you mean share\?"):
        guess.beside(shar=1)


def test_a_notebook_shows_the_line_and_nothing_below(tmp_path):
    cells = [new_code_cell(text) for text in ("import rmqlab\nrmqlab.guess(A=...)", "print('the answer')")]
    from nbclient.exceptions import CellExecutionError

    with pytest.raises(CellExecutionError) as caught:
        execute(new_notebook(cells=cells), tmp_path)
    assert caught.value.ename == "GuessFirst"
    assert caught.value.traceback.splitlines()[-1].startswith("Enter your guess first: A.")
    assert "Traceback" not in caught.value.traceback
