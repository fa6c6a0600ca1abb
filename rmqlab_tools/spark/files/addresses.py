"""Paths of a store: of this machine, or below an address that Arrow's file systems know (s3://, hdfs://, gs://, abfs://).

Readers of stores take either. What lies at an address is read by ranges where it lies, and is not copied first.
Credentials come from where the file system's own tools look: environment, files of the home folder, the machine's role.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, Final

from rmqlab import files
from rmqlab.errors import BadInput
from rmqlab.language import N_, _

MARK: Final = "://"


@dataclass(frozen=True, slots=True, order=True)
class AddressPath:
    """A file or folder below an address; as a text it has neither options nor credentials of that address.

    `root` is the address as it was given, `inner` the path in its file system, `shown` what people see.
    """

    root: str
    inner: str
    shown: str

    @classmethod
    def of(cls, address: str) -> AddressPath:
        """The folder that an address names.

        Raises:
            BadInput: Arrow knows no such address.
        """
        return cls(address, filesystem_of(address)[1].rstrip("/"), shown_address(address))

    def __truediv__(self, name: str) -> AddressPath:
        """What lies in this folder under a name."""
        return AddressPath(self.root, f"{self.inner}/{name}", f"{self.shown}/{name}")

    def __str__(self) -> str:
        """The address without options and credentials."""
        return self.shown

    @property
    def name(self) -> str:
        """The last part."""
        return self.inner.rpartition("/")[2]

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the path in the file system."""
        return PurePosixPath(self.inner).parts

    @property
    def parent(self) -> AddressPath:
        """The folder that this lies in."""
        return AddressPath(self.root, self.inner.rpartition("/")[0], self.shown.rpartition("/")[0])

    def with_name(self, name: str) -> AddressPath:
        """What lies beside this under another name."""
        return self.parent / name

    @property
    def filesystem(self) -> Any:
        """The file system, opened once in each process."""
        return filesystem_of(self.root)[0]


StorePath = Path | AddressPath


def is_address(where: object) -> bool:
    """Whether this is an address, not a path of this machine.

    >>> is_address("s3://bucket/store"), is_address("/var/store")
    (True, False)
    """
    return isinstance(where, AddressPath) or (not isinstance(where, Path) and MARK in str(where))


def store_path(where: str | StorePath) -> StorePath:
    """A path of this machine, or of an address; `file://` is one of this machine.

    Raises:
        BadInput: Arrow knows no such address.
    """
    if isinstance(where, Path | AddressPath):
        return where
    if not is_address(where):
        return Path(where)
    import pyarrow.fs as pafs

    filesystem, inner = filesystem_of(where)
    return Path(inner) if isinstance(filesystem, pafs.LocalFileSystem) else AddressPath.of(where)


def shown_address(address: str) -> str:
    """An address as people may see it.

    >>> shown_address("s3://key:secret@bucket/store/?region=eu-west-1")
    's3://bucket/store'
    """
    scheme, mark, rest = address.partition("?")[0].partition(MARK)
    authority, slash, path = rest.partition("/")
    return f"{scheme}{mark}{authority.rpartition('@')[2]}{slash}{path}".rstrip("/")


@cache
def filesystem_of(address: str) -> tuple[Any, str]:
    """Arrow's file system of an address, and the path in it.

    Raises:
        BadInput: Arrow knows no such address.
    """
    import pyarrow.fs as pafs

    try:
        filesystem, inner = pafs.FileSystem.from_uri(address)
    except (OSError, ValueError) as error:
        raise BadInput(
            _(
                "{place}: {error}; right is a folder, or an address such as s3://BUCKET/FOLDER",
                place=shown_address(address),
                error=reason_at(error).replace(address, shown_address(address)),
            )
        ) from error
    if not inner.strip("/"):
        raise BadInput(
            _(
                "{place}: it names no bucket; right is a folder, or an address such as s3://BUCKET/FOLDER",
                place=shown_address(address),
            )
        )
    return filesystem, inner


_OF_AWS: Final = re.compile(r"AWS Error (\w+) during \w+ operation: (.*)", re.DOTALL)
_REASONS: Final = {
    "NO_SUCH_BUCKET": N_("there is no such bucket"),
    "ACCESS_DENIED": N_("access is denied: the credentials of this machine may not read it, or there are none"),
    "INVALID_ACCESS_KEY_ID": N_("access is denied: nobody there knows the access key"),
    "SIGNATURE_DOES_NOT_MATCH": N_("access is denied: the secret key is another one"),
    "NETWORK_CONNECTION": N_("nobody answers there"),
}


def reason_at(error: Exception) -> str:
    """What a file system says is wrong, in one line; Arrow's texts have request ids and C++ in them."""
    failure = _OF_AWS.search(str(error))
    if failure:
        return _(_REASONS.get(failure[1], "{says}"), says=failure[2].partition(" (Request ID")[0].partition("\n")[0])
    if isinstance(error, OSError) and error.errno:
        return files.reason_of(error)
    return (str(error).splitlines() or [type(error).__name__])[0]
