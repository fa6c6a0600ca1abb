"""Compile every module once, on all cores, before the processes of pytest collect.

In a fresh clone each of them would rewrite and compile the same four hundred modules of tests, all at the same time.
"""

from __future__ import annotations

import compileall
import multiprocessing
import os
from typing import TYPE_CHECKING

from _pytest.assertion.rewrite import PYC_TAIL, _read_pyc, _rewrite_test, _write_pyc, assertstate_key, get_cache_dir

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pytest


def is_rewritten(module: Path) -> bool:
    """Whether pytest itself compiles a module: its asserts are rewritten so that they say what they compared."""
    return module.name == "conftest.py" or module.name.startswith("test_")


def compile_modules(config: pytest.Config, modules: Sequence[Path]) -> None:
    """Write the bytecode of modules where pytest and Python look for it, if it is not there; on all cores.

    A module that cannot be read or compiled is left for the collection, which says what is wrong with it.
    """
    fork = multiprocessing.get_context("fork")  # pytest's settings cannot be sent to a process, only be inherited
    cores = os.cpu_count() or 1
    shares = [fork.Process(target=_compile, args=(config, modules[start::cores])) for start in range(cores)]
    for share in shares:
        share.start()
    for share in shares:
        share.join()


def _compile(config: pytest.Config, modules: Sequence[Path]) -> None:
    for module in modules:
        if not is_rewritten(module):
            compileall.compile_file(module, quiet=2)
            continue
        folder = get_cache_dir(module)
        bytecode = folder / (module.stem + PYC_TAIL)
        if _read_pyc(module, bytecode) is not None:
            continue
        try:
            folder.mkdir(exist_ok=True)
            digest, code = _rewrite_test(module, config)
        except (OSError, SyntaxError, ValueError):
            continue
        _write_pyc(config.stash[assertstate_key], code, digest, bytecode)
