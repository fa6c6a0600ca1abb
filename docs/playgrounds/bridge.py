# ruff: noqa: INP001 - pages import it by its own name
"""What a page's call becomes in Python: a function of a page's module, JSON in and out."""

from __future__ import annotations

import json
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.language import translate

if TYPE_CHECKING:
    from collections.abc import Callable


def run(function: str, arguments: str, told: Callable[[str], object] | None = None) -> str:
    """Call "module.function" with a JSON list of arguments; the answer is {"value": ...} or {"error": {kind, text}}.

    With `told` the function has a further argument `progress`, to be called with what JSON can hold.
    """
    module, _, name = function.rpartition(".")
    progress: dict[str, Any] = {} if told is None else {"progress": lambda value: told(json.dumps(value))}
    try:
        return json.dumps({"value": getattr(import_module(module), name)(*json.loads(arguments), **progress)})
    except BadInput as error:
        return json.dumps({"error": {"kind": "BadInput", "text": translate(str(error))}})
