"""When Spark ends in the middle: a killed worker or JVM, or one without memory, in one sentence."""

from __future__ import annotations

from typing import Final

from rmqlab.language import _

_OF_JAVA: Final = {"Py4JNetworkError", "Py4JError", "ConnectionRefusedError", "ConnectionResetError", "BrokenPipeError"}
_WORKER: Final = (
    "Python worker exited unexpectedly",
    "Cannot run program",
    "Python worker failed to connect back",
    "java.io.EOFException",
)
_EXECUTOR: Final = ("ExecutorLostFailure", "SparkContext was shut down", "cancelled because SparkContext")
_CONNECT: Final = ("StatusCode.UNAVAILABLE", "failed to connect to all addresses")


def how_spark_ended(error: BaseException) -> str | None:
    """What ended in the middle of a verb's work, and what lies on the disk; None for any other error.

    >>> how_spark_ended(ValueError("some other error"))
    """
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        what = _what(cause)
        if what is not None:
            return _(
                "{what}; it was killed, or had no memory left. No figures are shown, and no file is left half "
                "written: one appears when it is whole. The same command begins anew",
                what=what,
            )
        cause = cause.__cause__ or cause.__context__
    return None


def _what(error: BaseException) -> str | None:
    text, kind = str(error), type(error)
    if any(sign in text for sign in _WORKER):
        return _("a Python worker of Spark ended")
    if any(sign in text for sign in _EXECUTOR):
        return _("an executor of Spark ended")
    if any(sign in text for sign in _CONNECT):
        return _("the Spark server ended")
    of_spark = kind.__module__.startswith(("py4j", "pyspark")) or "py4j" in _files(error)
    return _("Spark's Java ended") if kind.__name__ in _OF_JAVA and of_spark else None


def _files(error: BaseException) -> str:
    """The files that the error went through, as one text."""
    files, trace = [], error.__traceback__
    while trace is not None:
        files.append(trace.tb_frame.f_code.co_filename)
        trace = trace.tb_next
    return " ".join(files)
