"""Paths of a store: of this machine, or below an address that Arrow's file systems know (s3://, hdfs://, gs://, abfs://).

Readers of stores take either. What lies at an address is read by ranges where it lies, and is not copied first.
Credentials come from where the file system's own tools look: environment, files of the home folder, the machine's role.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final, TypeVar

from rmqlab.errors import BadInput
from rmqlab.language import _
from rmqlab_tools.spark.files.filesystem_failures import reason_at
from rmqlab_tools.spark.files.filesystems import errors_at, filesystem_at, named_endpoint

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
MARK: Final = "://"
_ADDRESSES: Final = re.compile(r"\w+://[^\s'\"]*")
_OF_NAMES: Final = {"abfs", "abfss", "hdfs", "viewfs"}
"""Before @ they have the name of an account, container or user; others have a key."""
_USER: Final = re.compile(r"(?P<name>[^/:@]*)(:(?!\d+/)[^@]*)?@")  # a secret may have a slash in it


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

    @property
    def place(self) -> str:
        """What the folder of an address is, and no other one: `place_of_address`."""
        return place_of_address(self.root)

    def ask(self, question: Callable[[Any, str], T]) -> T:
        """What the file system answers to a question about this path.

        Raises:
            OSError: it does not.
        """
        filesystem = self.filesystem
        with errors_at(self.root):
            return question(filesystem, self.inner)


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
    """An address as people may see it: without options, keys and passwords, also one that is written wrongly.

    >>> shown_address("s3://key:secret@bucket/store/?region=eu-west-1")
    's3://bucket/store'
    >>> shown_address("abfs://container@account.dfs.core.windows.net/store")
    'abfs://container@account.dfs.core.windows.net/store'
    """
    scheme, mark, rest = address.partition("?")[0].partition(MARK)
    user = _USER.match(rest)
    if user:
        name = f"{user['name']}@" if user["name"] and scheme in _OF_NAMES else ""
        rest = f"{name}{rest[user.end() :]}"
    return f"{scheme}{mark}{rest}".rstrip("/")


def shown_place(where: str | StorePath) -> str:
    """A folder or address as people may see it.

    >>> shown_place("s3://key:secret@bucket/store")
    's3://bucket/store'
    """
    return shown_address(str(where)) if is_address(where) else str(where)


def place_of_address(address: str) -> str:
    """What an address names and no other one does: as people may see it, with the endpoint that it names.

    >>> place_of_address("s3://key:secret@bucket/store?region=eu-west-1&endpoint_override=127.0.0.1:9000")
    's3://bucket/store?endpoint_override=127.0.0.1:9000'
    """
    endpoint = named_endpoint(address)
    return shown_address(address) + (f"?{endpoint}" if endpoint else "")


@cache
def filesystem_of(address: str) -> tuple[Any, str]:
    """Arrow's file system of an address, and the path in it.

    Raises:
        BadInput: Arrow knows no such address.
    """
    try:
        filesystem, inner = filesystem_at(address)
    except OSError as error:
        raise BadInput(
            _("{path}: cannot be read ({strerror})", path=shown_address(address), strerror=reason_at(error))
        ) from error
    except ValueError as error:
        raise BadInput(
            _(
                "{place}: {error}; right is a folder, or an address such as s3://BUCKET/FOLDER or "
                "abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/FOLDER",
                place=shown_address(address),
                error=_ADDRESSES.sub(lambda _address: shown_address(address), reason_at(error)),
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
