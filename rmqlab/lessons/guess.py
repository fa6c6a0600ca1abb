"""`rmqlab.guess(...)`: a guess is entered before anything is shown, and later stands beside what came out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.errors import BadInput, did_you_mean
from rmqlab.language import translate
from rmqlab.lessons.progress import note_guess

if TYPE_CHECKING:
    from rmqlab.show.tables import Table


class GuessFirst(Exception):
    """The guess is still open; a notebook shows one line of it, and runs no cell below."""

    def _render_traceback_(self) -> list[str]:
        """The line alone."""
        return [translate(str(self))]


class Guess(dict[str, object]):
    """What a reader expects, name to value."""

    def __repr__(self) -> str:
        """On one line."""
        return translate(f"your guess: {', '.join(f'{name} {value}' for name, value in self.items())}")

    def beside(self, **found: object) -> Table:
        """A table: what was guessed, what came out, and whether it is the same; numbers may differ by rounding.

        Raises:
            BadInput: something was found that was not guessed; the text names what was.
        """
        from rmqlab.show.tables import Table

        for name in found:
            if name not in self:
                raise BadInput(f"{name!r} was not guessed{did_you_mean(name, self)}; guessed: {', '.join(self)}")
        right = [_same(self[name], value) for name, value in found.items()]
        rows = [
            (name, self[name], value, "right" if same else "no")
            for (name, value), same in zip(found.items(), right, strict=True)
        ]
        return Table(
            f"Your guess: {sum(right)} of {len(rows)} right",
            ("", "guessed", "came out", ""),
            rows,
            marked=frozenset(number for number, same in enumerate(right) if not same),
        )


def guess(**values: object) -> Guess:
    """What you expect, before it is shown; `...` stands for a value that is not entered yet.

    >>> mine = guess(A=4, B=4)
    >>> mine
    your guess: A 4, B 4
    >>> mine.beside(A=2, B=4)
    Your guess: 1 of 2 right
       guessed  came out
    A  4        2         no  <
    B  4        4         right

    Raises:
        GuessFirst: a value is `...`; the text names which.
    """
    missing = [name for name, value in values.items() if value is ...]
    if missing:
        raise GuessFirst(f"Enter your guess first: {', '.join(missing)}. Then run this cell again, and go on below.")
    note_guess()
    return Guess(values)


def _same(guessed: object, found: object) -> bool:
    if isinstance(guessed, float) or isinstance(found, float):
        return isinstance(guessed, int | float) and isinstance(found, int | float) and abs(guessed - found) < 0.005
    if isinstance(guessed, str) and isinstance(found, str):
        return guessed.strip().lower() == found.strip().lower()
    return guessed == found
