"""Bytes read, compared and copied many at a time, for compiled loops.

Bytes are an array of them or, much faster in a loop, what `address_of` gives: a call with an array counts a reference.
Nothing looks whether the bytes are there: up to `REACH` after the place must be.

Each job of a cluster gets the package in a zip under a new path, and numba looks for machine code by path. So that not
every worker of every job compiles anew, some ten seconds each, code in a zip is kept by what the loops say.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any, Final, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.core.caching import CacheImpl, ZipCacheLocator
from numba.extending import intrinsic

_FOLDER: Final = "rmqlab"


def digest_of(archive: str, module: str) -> str:
    """A digest of the modules beside `module` (a path inside `archive`): loops call their neighbours."""
    folder = PurePosixPath(module).parent
    with zipfile.ZipFile(archive) as whole:
        members = sorted((member.filename, member.CRC) for member in whole.infolist())
    lines = [f"{name} {crc}" for name, crc in members if PurePosixPath(name).parent == folder]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]


class ShippedCodeLocator(ZipCacheLocator):
    """Where numba keeps the machine code of a function of our package in a zip: in the user's cache."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        super().__init__(py_func, py_file)  # type: ignore[no-untyped-call]
        self._digest = digest_of(self._zip_path, self._internal_path)
        self._cache_path = str(Path(self._cache_path).with_name(f"{_FOLDER}_{self._digest}"))

    def get_source_stamp(self) -> str:
        """What must be the same for the code to be used."""
        return self._digest

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        """The place for a function of our package in a zip; None for others, and where nothing may be written."""
        if ".zip/rmqlab_tools/" not in py_file:
            return None
        try:
            locator = cls(py_func, py_file)
            locator.ensure_cache_path()  # type: ignore[no-untyped-call]
        except (OSError, zipfile.BadZipFile):
            return None
        return locator


if ".zip" in __file__:
    CacheImpl._locator_classes.insert(0, ShippedCodeLocator)  # noqa: SLF001 - its setting would need every worker's start

F = TypeVar("F", bound=Callable[..., Any])
REACH: Final = 64
"""Bytes that are looked at at once."""


def compiled(function: F) -> F:
    """Compile `function` with numba; the machine code is cached if possible."""
    try:
        return cast("F", numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:  # a module inside a zip has no folder for a cache
        return cast("F", numba.njit(nogil=True)(function))


def pointer(context: Any, builder: Any, signature: Any, given: Any, number: int, to: Any) -> Any:
    """The pointer of the bytes `number` and the place after it in the arguments of an intrinsic."""
    place = context.cast(builder, given[number + 1], signature.args[number + 1], types.int64)
    if isinstance(signature.args[number], types.Integer):
        return builder.inttoptr(builder.add(given[number], place), to.as_pointer())
    array = context.make_array(signature.args[number])(context, builder, given[number])
    return builder.bitcast(builder.gep(array.data, [place]), to.as_pointer())


def _number(bits: int, result: Any, *, swap: bool) -> Any:
    def typed(_: Any, data: Any, at: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            value = builder.load(pointer(context, builder, signature, given, 0, ir.IntType(bits)), align=1)
            return builder.bswap(value) if swap else value

        return result(data, at), generate

    return intrinsic(typed)


def _address(_: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.ptrtoint(context.make_array(signature.args[0])(context, builder, given[0]).data, ir.IntType(64))

    return types.int64(array), generate


def _put(bits: int, kind: Any) -> Any:
    def typed(_: Any, into: Any, place: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            number = context.cast(builder, given[2], signature.args[2], kind)
            builder.store(number, pointer(context, builder, signature, given, 0, ir.IntType(bits)), align=1)
            return context.get_dummy_value()

        return types.void(into, place, value), generate

    return intrinsic(typed)


address_of: Any = intrinsic(_address)
"""Where the first element of an array lies: it must stay."""
byte_at = _number(8, types.uint8, swap=False)
"""One byte."""
put_byte = _put(8, types.uint8)
"""Writes one byte."""
own_int_at = _number(32, types.int32, swap=False)
"""An int of an array of such, by the place of its first byte."""
put_int = _put(32, types.int32)
"""Writes an int of an array of such, by the place of its first byte."""
int_at = _number(32, types.int32, swap=True)
"""The big-endian int of 4 bytes."""
long_at = _number(64, types.int64, swap=True)
"""The big-endian long of 8 bytes."""
word_at = _number(64, types.uint64, swap=False)
"""8 bytes, the first one in the lowest bits."""


def _marks(_: Any, data: Any, at: Any, byte: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        lanes = ir.VectorType(ir.IntType(8), REACH)
        loaded = builder.load(pointer(context, builder, signature, given, 0, lanes), align=1)
        wanted = context.cast(builder, given[2], signature.args[2], types.uint8)
        first_lane = builder.insert_element(ir.Constant(lanes, ir.Undefined), wanted, ir.IntType(32)(0))
        order = ir.Constant(ir.VectorType(ir.IntType(32), REACH), [0] * REACH)
        all_lanes = builder.shuffle_vector(first_lane, ir.Constant(lanes, ir.Undefined), order)
        return builder.bitcast(builder.icmp_unsigned("==", loaded, all_lanes), ir.IntType(REACH))

    return types.uint64(data, at, byte), generate


def _first_mark(_: Any, __: Any) -> Any:
    def generate(_: Any, builder: Any, __: Any, given: Any) -> Any:
        return builder.cttz(given[0], ir.IntType(1)(0))

    return types.int64(types.uint64), generate


def _copy_16(_: Any, data: Any, at: Any, into: Any, place: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        lanes = ir.VectorType(ir.IntType(8), 16)
        value = builder.load(pointer(context, builder, signature, given, 0, lanes), align=1)
        builder.store(value, pointer(context, builder, signature, given, 2, lanes), align=1)
        return context.get_dummy_value()

    return types.void(data, at, into, place), generate


def _fetch(_: Any, data: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        place = pointer(context, builder, signature, given, 0, ir.IntType(8))
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
        prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")  # type: ignore[no-untyped-call]
        builder.call(prefetch, [place, number(0), number(3), number(1)])  # to read, needed soon, data
        return context.get_dummy_value()

    return types.void(data, at), generate


marks: Any = intrinsic(_marks)
"""64 bits: which of the 64 bytes at a place are a given one, the first one's in the lowest bit."""
first_mark: Any = intrinsic(_first_mark)
"""The number of the lowest bit that is set, 64 if none is."""
copy_16: Any = intrinsic(_copy_16)
"""Copies 16 bytes."""
fetch: Any = intrinsic(_fetch)
"""Has the processor bring the bytes at a place into its cache. Any place is allowed."""


int64: Any = np.int64  # numba types calls of these two, mypy need not
uint64: Any = np.uint64  # an index of this type is not looked at for being negative


@compiled
def copy_bytes(data: Any, at: int, length: int, into: Any, place: int) -> None:
    """Copy `length` bytes; a negative number copies none."""
    source, target = uint64(at), uint64(place)
    for index in range(uint64(max(length, 0))):
        put_byte(into, target + uint64(index), byte_at(data, source + uint64(index)))


@compiled
def copy_text(data: Any, at: int, length: int, into: Any, place: int, wide: bool) -> None:
    """Copy a short text. If `wide`, there must be `REACH` bytes more to read, and room for as many to write."""
    if wide:
        done = 0
        while done < length:
            copy_16(data, at + done, into, place + done)
            done += 16
    else:
        copy_bytes(data, at, length, into, place)


@compiled
def is_same(data: Any, at: int, length: int, other: Any, begin: int, end: int) -> bool:
    """Whether `length` bytes at `at` are those of `other` from `begin` to `end`."""
    if end - begin != length:
        return False
    first, second = uint64(at), uint64(begin)
    for index in range(uint64(length)):
        if byte_at(data, first + uint64(index)) != byte_at(other, second + uint64(index)):
            return False
    return True
