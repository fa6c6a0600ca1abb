"""`python -m rmqlab_tools.cli.bare VERB --help`: a verb's help where packages of others are missing.

None is installed for it. Modules name those packages at their top, to derive classes and to decorate, and none of
that matters to a help text. So whatever is missing is stood in for by `Anything`, and only here: a verb itself never
runs like that.
"""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

# Who prints asks whether it is there, and does without.
NOT_STOOD_IN_FOR = {"rich", "rmqlab", "rmqlab_tools", "tests"}
OF_MSGSPEC = "__struct_"  # every other name of this kind is a protocol of Python, which must not be there


class _Kind(type):
    """Classes of which every attribute and item is there, and whose arguments do not matter."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any], **_: Any) -> _Kind:
        return super().__new__(cls, name, bases, body)

    def __init__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any], **_: Any) -> None:
        super().__init__(name, bases, body)

    def __getattr__(cls, name: str) -> type[Anything]:
        if name.startswith("__") and not name.startswith(OF_MSGSPEC):
            raise AttributeError(name)
        return Anything

    def __getitem__(cls, _: object) -> type[Anything]:
        return Anything

    def __iter__(cls) -> Iterator[Any]:
        return iter(())


class Anything(metaclass=_Kind):
    """In place of what a missing package has: a class, a decorator, a function or a value."""

    def __init__(self, *_: Any, **__: Any) -> None:
        """Take whatever is given."""

    def __call__(self, *_: Any, **__: Any) -> Anything:
        """Answer as anything would."""
        return self

    def __getattr__(self, name: str) -> Any:
        """Give what is asked for, but for the protocols of Python."""
        if name.startswith("__") and not name.startswith(OF_MSGSPEC):
            raise AttributeError(name)
        return self

    def __getitem__(self, _: object) -> Anything:
        """An item."""
        return self

    def __iter__(self) -> Iterator[Any]:
        """Have nothing in it."""
        return iter(())


class StandIns(MetaPathFinder, Loader):
    """Finds a module for every name that nothing else finds: the last of the finders."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find it, unless it is ours or a program does without it."""
        if fullname.partition(".")[0] in {*NOT_STOOD_IN_FOR, *sys.stdlib_module_names}:
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def exec_module(self, module: ModuleType) -> None:
        """Let the module have whatever it is asked for."""
        module.__getattr__ = lambda name: getattr(Anything, name)  # type: ignore[method-assign]


def main(arguments: list[str]) -> int:
    """Print the help of a verb."""
    sys.meta_path.append(StandIns())
    from rmqlab_tools.program import called

    called()
    from rmqlab_tools.cli.cli import parser_of

    parser_of(arguments[0]).print_help()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
