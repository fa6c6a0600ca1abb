"""Texts as numbers, in compiled loops: the first of each is copied, and all that are the same get its number."""

from __future__ import annotations

from typing import Any, Final

from rmqlab_tools.spark.files.wide_bytes import (
    byte_at,
    compiled,
    copy_text,
    int64,
    own_int_at,
    put_int,
    uint64,
    word_at,
)

SLOTS_A_TEXT: Final = 2
"""How many places at least a table has for each text it may get; their number is a power of two."""
_WORD: Final = 8
_INT: Final = 4
_FACTOR: Final = 0x9E3779B97F4A7C15


@compiled
def _last_word(data: Any, at: int, length: int, wide: bool) -> Any:
    """Up to 7 bytes as a number."""
    word = uint64(0)
    if wide:
        word = word_at(data, at) & ((uint64(1) << uint64(_WORD * length)) - uint64(1))
    else:
        for index in range(length):
            word |= uint64(byte_at(data, at + index)) << uint64(_WORD * index)
    return word


@compiled
def _hash_of(data: Any, at: int, length: int, wide: bool) -> Any:
    value = uint64(length)
    done = int64(0)
    while done + _WORD <= length:
        value = (value ^ word_at(data, at + done)) * uint64(_FACTOR)
        value ^= value >> uint64(32)
        done += _WORD
    value = (value ^ _last_word(data, at + done, length - done, wide)) * uint64(_FACTOR)
    return value ^ (value >> uint64(32))


@compiled
def _is_text(data: Any, at: int, length: int, texts: Any, ends: int, number: int, wide: bool) -> bool:
    """Whether the text of this number is the one at `at`."""
    begin = int64(own_int_at(ends, _INT * number))
    if own_int_at(ends, _INT * (number + 1)) - begin != length:
        return False
    done = int64(0)
    while done + _WORD <= length:
        if word_at(data, at + done) != word_at(texts, begin + done):
            return False
        done += _WORD
    rest = length - done
    return bool(_last_word(data, at + done, rest, wide) == _last_word(texts, begin + done, rest, True))


@compiled
def code_of(data: Any, at: int, length: int, texts: int, ends: int, slots: int, last: int, wide: bool) -> Any:
    """The number of the text at `at`; if it is the number of texts that there are, the text was a new one.

    The other arrays are addresses. The texts lie in `texts` one after the other; `ends` has ints, where each begins,
    and ends. `slots` has ints: the number of a text, and 1, at a place that its bytes give, 0 where there is none. The
    one with number `last`, a power of two, has how many texts there are. With `wide` there are `REACH` bytes more to
    read, and room for as many to write.
    """
    place = int64(_hash_of(data, at, length, wide) & uint64(last - 1))
    number = int64(own_int_at(slots, _INT * place)) - 1
    while number >= 0 and not _is_text(data, at, length, texts, ends, number, wide):
        place = (place + 1) & (last - 1)
        number = int64(own_int_at(slots, _INT * place)) - 1
    if number < 0:
        number = int64(own_int_at(slots, _INT * last))
        put_int(slots, _INT * place, number + 1)
        put_int(slots, _INT * last, number + 1)
        begin = int64(own_int_at(ends, _INT * number))
        copy_text(data, at, length, texts, begin, wide)
        put_int(ends, _INT * (number + 1), begin + length)
    return number
