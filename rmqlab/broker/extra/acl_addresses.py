"""Addresses that need no signature: the patterns of plain_acl.yml (4.8.0 `RemoteAddressStrategyFactory`).

`*` is everybody; `10.1.2.3` and `::1` one; `10.1.2.{3,4}` and `10.1.2.3,10.1.2.4` several; `10.1.*`, `10.1.2.3-9` and
`1050::5:*` ranges. Nothing is nobody.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.message.java import is_blank

if TYPE_CHECKING:
    from collections.abc import Callable

    Matches = Callable[[str], bool]

_EVERYBODY = {"*", "*.*.*.*", "*:*:*:*:*:*:*:*"}
_IPV4_PARTS, _IPV6_PARTS = 4, 8
_BYTE_MAX, _WORD_MAX = 0xFF, 0xFFFF


class AclError(BadInput):
    """A request, or a rule of access control, that is refused: what Java throws as `AclException`, with its text."""


def white_addresses(pattern: str | None) -> Matches:
    """Return what tells whether an address ("10.1.2.3") fits a pattern. Raises AclError for one that is none."""
    if pattern is None or is_blank(pattern):
        return lambda _address: False
    if pattern in _EVERYBODY:
        return lambda _address: True
    if pattern.endswith("}"):
        return _several(_braces(pattern))
    if "," in pattern:
        return _several([part for part in pattern.split(",") if part])
    if "*" in pattern or "-" in pattern:
        return _range(pattern)
    _check(pattern)
    return lambda address: _expand(address) == _expand(pattern)


def _braces(pattern: str) -> list[str]:
    mark = ":" if ":" in pattern else "."
    parts = [part for part in pattern.split(mark) if part]
    if mark == "." and len(parts) < _IPV4_PARTS:
        raise AclError("MultipleRemoteAddressStrategy has got a/some wrong format IP(s) ")
    if not parts[-1].startswith("{"):
        raise AclError("MultipleRemoteAddressStrategy netaddress examine scope Exception netaddress")
    head = pattern[: pattern.index("{")]
    return [head + last for last in parts[-1][1:-1].split(",") if last]


def _several(addresses: list[str]) -> Matches:
    for address in addresses:
        _check(address)
    expanded = {_expand(address) for address in addresses}
    return lambda address: _expand(address) in expanded


def _check(address: str) -> None:
    if _version(address) is None:
        raise AclError(f"Netaddress examine Exception netaddress is {address}")


def _version(address: str) -> int | None:
    try:
        return ipaddress.ip_address(address).version
    except ValueError:
        return None


def _expand(address: str) -> str:
    """Return an address in full, IPv6 in eight groups of four digits, upper case; other text as it is."""
    try:
        return ipaddress.ip_address(address).exploded.upper()
    except ValueError:
        return address


def _range(pattern: str) -> Matches:
    is_v6 = ":" in pattern
    mark, parts_wanted, highest, base = (
        (":", _IPV6_PARTS, _WORD_MAX, 16) if is_v6 else (".", _IPV4_PARTS, _BYTE_MAX, 10)
    )
    parts = _groups(pattern) if is_v6 else [part.strip() for part in pattern.split(mark)]
    at = next((index for index, part in enumerate(parts) if index and ("*" in part or "-" in part)), None)
    if len(parts) != parts_wanted or at is None or any(_number(part, base, highest) is None for part in parts[:at]):
        raise AclError(f"Netaddress examine scope Exception netaddress is {pattern}")
    low, high = _bounds(parts[at], base, highest)
    head = [_number(part, base, highest) for part in parts[:at]]

    def matches(address: str) -> bool:
        if _version(address) != (6 if is_v6 else 4):
            return False
        numbers = [int(part, base) for part in _expand(address).split(mark)]
        return numbers[:at] == head and low <= numbers[at] <= high

    return matches


def _groups(pattern: str) -> list[str]:
    """The eight groups of an IPv6 pattern; what stands behind a range counts as one group each."""
    if "::" not in pattern:
        return pattern.split(":")
    left, right = pattern.split("::", 1)
    before, after = [part for part in left.split(":") if part], [part for part in right.split(":") if part]
    return [*before, *["0"] * (_IPV6_PARTS - len(before) - len(after)), *after]


def _bounds(part: str, base: int, highest: int) -> tuple[int, int]:
    if part == "*":
        return 0, highest
    low, high = (_number(text, base, highest) for text in (part.split("-", 1) if "-" in part else ("", "")))
    if low is None or high is None or low > high:
        raise AclError(f"RangeRemoteAddressStrategy netaddress examine scope Exception value {part} ")
    return low, high


def _number(text: str, base: int, highest: int) -> int | None:
    try:
        number = int(text, base)
    except ValueError:
        return None
    return number if 0 <= number <= highest else None
