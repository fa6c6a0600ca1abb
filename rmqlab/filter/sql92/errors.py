"""What the SQL92 filter throws, named and worded as the JVM does, with our own explanation beside it."""

from __future__ import annotations

from typing import ClassVar

from rmqlab.errors import BadInput

PARSER_PACKAGE = "org.apache.rocketmq.filter.parser."


class JavaError(Exception):
    """Something thrown in Java: its class, its message, its cause; `str` gives Java's `toString`.

    `offset` is the place in the expression it belongs to (UTF-16 units), None where it is not known.
    """

    def __init__(self, java_class: str, text: str | None, cause: JavaError | None = None) -> None:
        super().__init__(java_class, text)
        self.java_class = java_class
        self.text = text
        self.java_cause = cause
        self.offset: int | None = None

    @property
    def java_name(self) -> str:
        """The class without its package."""
        return self.java_class.rpartition(".")[2]

    @property
    def cause_name(self) -> str | None:
        """The cause's class without its package, None without a cause."""
        return None if self.java_cause is None else self.java_cause.java_name

    def __str__(self) -> str:
        """Print class and message as Java does."""
        return self.java_class if self.text is None else f"{self.java_class}: {self.text}"


class SyntaxFault(JavaError):
    """A `ParseException` or `TokenMgrError`: where reading stopped, what was read, what could stand there."""

    def __init__(self, java_class: str, text: str, offset: int, read: str, expected: tuple[str, ...]) -> None:
        super().__init__(PARSER_PACKAGE + java_class, text)
        self.offset = offset
        self.read = read
        self.expected = expected


def runtime_error(text: str) -> JavaError:
    """A plain `RuntimeException`, as the expression factories throw it."""
    return JavaError("java.lang.RuntimeException", text)


def runtime_error_from(cause: JavaError, text: str | None = None) -> JavaError:
    """A `RuntimeException` around `cause`; without a text it repeats the cause's."""
    return JavaError("java.lang.RuntimeException", str(cause) if text is None else text, cause)


def number_format_error(text: str) -> JavaError:
    """The `NumberFormatException` of a text that is no number."""
    return JavaError("java.lang.NumberFormatException", text)


def class_cast_error() -> JavaError:
    """The `ClassCastException` of 4.8.0 when a Boolean meets a String."""
    text = (
        "class java.lang.Boolean cannot be cast to class java.lang.String "
        "(java.lang.Boolean and java.lang.String are in module java.base of loader 'bootstrap')"
    )
    return JavaError("java.lang.ClassCastException", text)


def stack_overflow_error() -> JavaError:
    """The `StackOverflowError` of an expression too deep for the JVM's stack."""
    return JavaError("java.lang.StackOverflowError", None)


class ExpressionRefused(BadInput):
    """A filter expression that the broker refuses. `str` is our explanation."""

    @property
    def java_message(self) -> str | None:
        """What Java's `getMessage()` returns: the remark of the broker's answer."""
        return str(self)


class MQFilterException(ExpressionRefused):
    """The broker refuses the expression (`MQFilterException` around what the parser threw).

    The explanation has line and column (from 1), what was read there, what could stand there.
    """

    java_name: ClassVar[str] = "MQFilterException"
    error_message: ClassVar[str] = "Invalid MessageSelector. "

    def __init__(self, reason: JavaError, explanation: str, line: int, column: int) -> None:
        super().__init__(explanation)
        self.reason = reason
        self.line = line
        self.column = column

    @property
    def cause_name(self) -> str:
        """Class of what the parser threw, without its package."""
        return self.reason.java_name

    @property
    def java_message(self) -> str:
        """Class and text of what the parser threw."""
        return str(self.reason)

    @property
    def offset(self) -> int | None:
        """Place in the expression (UTF-16 units from 0), None for an expression too deep."""
        return self.reason.offset


class NullExpressionError(ExpressionRefused):
    """There is no expression at all; 4.8.0 fails with a NullPointerException before it parses."""

    java_name: ClassVar[str] = "NullPointerException"

    @property
    def java_message(self) -> None:
        """None: Guava's check of the cache key has no text."""
        return


def shown(characters: str) -> str:
    """Characters for people: as they are in quotes, or by their number if a reader would not see them.

    Examples: `＞` gives `'＞'`, a blank that does not break `U+00A0`; of a character beyond U+FFFF the two halves
    that Java has may be given.
    """
    whole = characters.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if whole.isprintable() and whole.strip():
        return repr(whole)
    return " ".join(f"U+{ord(character):04X}" for character in whole)
