"""What a file system of Arrow says is wrong, in one line: its texts have request ids, C++ names and signatures in them.

Within `as_os_errors` each failure is an OSError: Azure's and Google's come as errors of Arrow's own too.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Final

from rmqlab import files
from rmqlab.language import N_, _

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

_NO_BUCKET: Final = N_("there is no such bucket")
_NOT_ALLOWED: Final = N_("access is denied: the credentials of this machine may not read it, or there are none")
_NO_CREDENTIALS: Final = N_("access is denied: this machine has no credentials that work there ({says})")
_NO_ANSWER: Final = N_("nobody answers there")
_OTHER_KEY: Final = N_("access is denied: the secret key is another one")
_OF_CLIENTS: Final = (
    re.compile(r"AWS Error (?P<code>\w+) during \w+ operation: (?P<says>.*)", re.DOTALL),
    re.compile(r"Azure Error: \[(?P<code>\w*)\] (?P<says>.*)", re.DOTALL),
    re.compile(r"(?P<code>Credentials)\d+\w+Exception\w*: (?P<says>.*)", re.DOTALL),  # of Azure, before any request
    re.compile(r"St\d+runtime_error: (?P<says>.*(?P<code>Base64).*)", re.DOTALL),  # as before: the key is none
    re.compile(r"with a last message of (?P<code>Could not create a OAuth2).*? message was: (?P<says>.*)", re.DOTALL),
    re.compile(r"google::cloud::Status\((?P<code>\w+): .*?with a last message of (?P<says>.*)", re.DOTALL),
)
"""What clients of S3, Azure and Google Cloud Storage write, with the code of the error and a text."""
_REASONS: Final = {
    "NO_SUCH_BUCKET": _NO_BUCKET,
    "ACCESS_DENIED": _NOT_ALLOWED,
    "INVALID_ACCESS_KEY_ID": N_("access is denied: nobody there knows the access key"),
    "SIGNATURE_DOES_NOT_MATCH": _OTHER_KEY,
    "NETWORK_CONNECTION": _NO_ANSWER,
    "ContainerNotFound": _NO_BUCKET,
    "ResourceNotFound": N_("there is no such account or container"),
    "AuthenticationFailed": _OTHER_KEY,
    "AuthorizationFailure": _NOT_ALLOWED,
    "AuthorizationPermissionMismatch": _NOT_ALLOWED,
    "": _NO_ANSWER,  # Azure's client got no answer that has a code
    "Credentials": _NO_CREDENTIALS,
    "Base64": N_("access is denied: the account key is none ({says})"),
    "Could not create a OAuth2": _NO_CREDENTIALS,
    "PERMISSION_DENIED": _NOT_ALLOWED,
    "UNAUTHENTICATED": _NOT_ALLOWED,
    "UNAVAILABLE": N_("nobody answers there ({says})"),
    "DEADLINE_EXCEEDED": _NO_ANSWER,
}
_AFTER_SAYS: Final = re.compile(r"\s*(\(Request ID|error_info=|\n).*", re.DOTALL)
_OPTIONS: Final = re.compile(r"(://[^\s?]*)\?\S*")


def reason_at(error: Exception) -> str:
    """What a file system says is wrong, in one line, without options of addresses: a signature is one.

    >>> reason_at(OSError("... AWS Error NO_SUCH_BUCKET during ListObjectsV2 operation: gone (Request ID: 4A)"))
    'there is no such bucket'
    """
    for client in _OF_CLIENTS:
        failure = client.search(str(error))
        if failure:
            says = _without_options(_AFTER_SAYS.sub("", failure["says"]))
            return _(_REASONS.get(failure["code"], "{says}"), says=says or failure["code"])
    if isinstance(error, OSError) and error.errno and _is_of_system(error.errno):
        return files.reason_of(error)
    return _without_options((str(error).splitlines() or [type(error).__name__])[0])


def _without_options(text: str) -> str:
    return _OPTIONS.sub(r"\1", text)


def _is_of_system(errno: int) -> bool:
    """Whether the system has words for a number: libhdfs uses 255 for whatever it does not know."""
    return os.strerror(errno) != f"Unknown error {errno}"


@contextmanager
def as_os_errors(*, hdfs: bool = False) -> Iterator[None]:
    """Whatever Arrow raises within is an OSError; what libhdfs prints by itself is its reason, and is not printed.

    Raises:
        OSError: as said.
    """
    import pyarrow as pa

    printed = _PRINTED if hdfs else None
    if printed:
        printed.begin()
    says = ""
    try:
        yield
    except pa.ArrowException as error:
        raise OSError(str(error)) from error
    except OSError as error:
        says = _reason_printed(printed.text()) if printed else ""
        if says and not (error.errno and _is_of_system(error.errno)):
            raise OSError(says) from error
        raise
    finally:
        if printed:
            printed.end()


_OF_JAVA: Final = re.compile(
    r"^(?:Caused by: )?(?:\w+\.)+(?P<name>\w+(?:Exception|Error)): (?P<says>.+)$", re.MULTILINE
)


def _reason_printed(text: str) -> str:
    """The line that says why: the last exception that libhdfs printed, else the first line."""
    exceptions = list(_OF_JAVA.finditer(text))
    if exceptions:
        return f"{exceptions[-1]['name']}: {exceptions[-1]['says']}"
    return (text.splitlines() or [""])[0]


class _Printed:
    """What C code prints to the standard error between `begin` and `end`; threads may do so at the same time."""

    def __init__(self) -> None:
        self._lock, self._listeners = Lock(), 0
        self._file: IO[bytes] | None = None
        self._saved = -1

    def begin(self) -> None:
        with self._lock:
            self._listeners += 1
            if self._listeners == 1:
                sys.stderr.flush()
                self._saved = os.dup(2)
                self._file = tempfile.TemporaryFile(prefix="rmqlab-stderr-")  # noqa: SIM115 - `end` closes it
                os.dup2(self._file.fileno(), 2)

    def text(self) -> str:
        with self._lock:
            if self._file is None:
                return ""
            size = os.fstat(self._file.fileno()).st_size
            return os.pread(self._file.fileno(), size, 0).decode("utf-8", "replace")

    def end(self) -> None:
        with self._lock:
            self._listeners -= 1
            if not self._listeners and self._file is not None:
                sys.stderr.flush()
                os.dup2(self._saved, 2)
                os.close(self._saved)
                self._file.close()
                self._file = None


_PRINTED: Final = _Printed()
