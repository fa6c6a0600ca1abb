"""Who sent a message, as 4.8.0 reads it out of a UNIQ_KEY (`MessageClientIDSetter`): nothing else asks for it here."""

from __future__ import annotations

from rmqlab.message.ids import MessageIdError, address_size, unique_id_bytes


def ip_bytes_of(unique_id: str | None) -> bytes:
    """Return the address in a UNIQ_KEY: 16 bytes if the id has 28, else 4; raise `MessageIdError` if it has fewer."""
    data = unique_id_bytes(unique_id)
    size = address_size(data)
    if len(data) < size:
        raise MessageIdError("ArrayIndexOutOfBoundsException", f"unique id {unique_id!r}: too short for an address")
    return data[:size]


def ip_of(unique_id: str | None) -> str:
    """Return the address in a UNIQ_KEY as text; groups of an IPv6 address keep their leading zeros."""
    address = ip_bytes_of(unique_id)
    if len(address) == 4:
        return ".".join(map(str, address))
    return address.hex(":", 2)


def pid_of(unique_id: str | None) -> int:
    """Return the process id in a UNIQ_KEY, 0..65535, counted from the end of the id."""
    data = unique_id_bytes(unique_id)
    if len(data) < 12:
        raise MessageIdError("IndexOutOfBoundsException", f"unique id {unique_id!r}: too short to have a process id")
    return int.from_bytes(data[-12:-10])
