"""The wall: a small kernel, its clients beside it, and arrows between rooms that point down only."""

from __future__ import annotations

import ast
import re
import subprocess
import sys

import pytest

from rmqlab.checkout import ROOT
from tests.proof.rooms.imports import MODULES, PACKAGES, imports_of, name_of, room_of

# What a room may import besides itself and the modules beside the rooms of its package, lowest room first.
CORE = ("message", "protocol", "filter", "store", "broker", "namesrv", "client")
KERNEL = {
    "message": set(),
    "protocol": {"message"},
    "filter": {"message", "protocol"},
    "store": {"message", "protocol", "filter"},
    "broker": {"message", "protocol", "filter", "store"},
    "namesrv": {"message", "protocol"},
    "client": {"message", "protocol", "filter"},
    "scenario": {"message"},
    "run": {"message", "protocol", "filter", "scenario"},
    "sim": {*CORE, "scenario", "run"},
    "lab": {*CORE, "scenario", "run", "sim"},
}
TOOLS = {
    "live": set(KERNEL),
    "recordings": {*KERNEL, "live"},
    "search": {*KERNEL, "recordings"},
    "show": {*KERNEL, "search"},
    "source": {*KERNEL, "search"},
    "spark": {*KERNEL, "live", "recordings", "search", "show"},
    "doctor": {*KERNEL, "live", "search", "show"},
    "course": {*KERNEL, "recordings", "search", "show", "spark", "doctor"},
    "cli": {*KERNEL, "live", "recordings", "search", "show", "source", "spark", "doctor", "course"},
}
ROOMS = KERNEL | TOOLS
# The one door from the kernel to its clients; `plugins.pyi` beside it says to mypy what each is.
DOOR = "rmqlab/plugins.py"
# Clocks, sockets, threads and chance come into the core from outside.
NOT_IN_CORE = {
    "asyncio", "concurrent", "multiprocessing", "os", "pathlib", "queue", "random", "secrets", "select", "selectors",
    "signal", "socket", "subprocess", "sys", "threading", "time", "uuid",
}  # fmt: skip
# Besides the standard library the kernel has one package; its tables are handed to others' frames on request.
OF_OTHERS = {"msgspec"}
ON_REQUEST = {"pandas", "pyspark", "polib"}
HEAVY = ("numpy", "matplotlib", "pandas", "pyspark", "pyarrow", "IPython", "ipywidgets", "nbformat", "asyncio")


def test_rooms_import_only_downwards():
    wrong = []
    for path in MODULES:
        room = room_of(name_of(path))
        for line, name in imports_of(path) if room else ():
            target = room_of(name) if name.partition(".")[0] in PACKAGES else None
            if target is not None and target not in {room, *ROOMS[room]}:
                wrong.append(f"{name_of(path)}:{line}: {name}")
    assert wrong == []


def test_every_room_has_its_rule():
    rooms = [path.parent.name for package in PACKAGES for path in (ROOT / package).glob("*/__init__.py")]
    assert sorted(rooms) == sorted(ROOMS)


def test_kernel_names_its_clients_at_one_door():
    """Neither an import nor a text of the kernel names `rmqlab_tools`: by `import_module` it is no less an arrow."""
    wrong = []
    for path in MODULES:
        if name_of(path).startswith("rmqlab/") and name_of(path) != DOOR:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            texts = [
                (node.lineno, node.value)
                for node in ast.walk(tree)
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            ]
            wrong += [
                f"{name_of(path)}:{line}: {text[:60]}"
                for line, text in [*imports_of(path), *texts]
                if "rmqlab_tools" in text
            ]
    assert wrong == []


def test_every_plugin_is_there():
    from rmqlab import plugins

    for name in plugins.FRONT_DOOR.keys() | plugins.WITHIN.keys():
        if name not in {"spark", "read_store", "audit"}:  # their packages may be missing
            assert getattr(plugins, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'plna'"):
        plugins.plna  # noqa: B018


def test_mypy_is_told_what_each_plugin_is():
    """The types stand beside the table, so that no module of the kernel imports a client for them."""
    from rmqlab import plugins

    stub = (ROOT / DOOR).with_suffix(".pyi").read_text(encoding="utf-8")
    typed = {
        name: module for module, name in re.findall(r"^from rmqlab_tools\.?(\S*) import (\w+) as", stub, re.MULTILINE)
    }
    table = {name: "" if name == place else place for name, place in (plugins.FRONT_DOOR | plugins.WITHIN).items()}
    assert typed.pop("Room") == table.pop("spark") + "spark"  # the room can be called
    assert typed == table


def test_nothing_of_a_wheel_names_what_a_checkout_alone_has():
    """Not by an import, and not by a text for `import_module`: `rmqlab.checkout.part` asks the checkout's own table."""
    wrong = []
    for path in MODULES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = [
            (node.lineno, node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        wrong += [
            f"{name_of(path)}:{line}: {name}"
            for line, name in [*imports_of(path), *names]
            if re.search(r"\btests\.\w", name)
        ]
    assert wrong == []


def test_kernel_needs_msgspec_alone():
    wrong = []
    for path in MODULES:
        if name_of(path).startswith("rmqlab/"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            top = {
                (node.lineno, alias.name) for node in tree.body if isinstance(node, ast.Import) for alias in node.names
            }
            top |= {(node.lineno, node.module) for node in tree.body if isinstance(node, ast.ImportFrom)}
            for line, name in imports_of(path):
                package = name.partition(".")[0]
                if package in sys.stdlib_module_names or package in PACKAGES or package in OF_OTHERS:
                    continue
                if package not in ON_REQUEST or (line, name) in top:
                    wrong.append(f"{name_of(path)}:{line}: {name}")
    assert wrong == []


def test_interface_of_the_runtime_stands_alone():
    """What client code awaits, and the errors of a lost request: virtual time and sockets come in behind it."""
    ours = {name for _, name in imports_of(ROOT / "rmqlab/client/runtime.py") if name.startswith("rmqlab")}
    assert {room_of(name) for name in ours} <= {"protocol", None}


def test_folders_of_a_room_import_one_way():
    """Whoever reads a folder needs only those below it: inside a room, no folder leads back to itself."""
    arrows = {}
    for path in MODULES:
        package, room, *inner = [*path.relative_to(ROOT).parts[:-1], ""][:3]
        home = ROOT / package / room
        for _, name in imports_of(path):
            there, _, rest = name.removeprefix(f"{package}.").partition(".")
            if name.startswith(f"{package}.") and there == room and room in ROOMS:
                below = rest.partition(".")[0]
                target = below if below and (home / below).is_dir() else ""
                source = next(iter(inner), "")
                if target != source:
                    arrows.setdefault((room, source), set()).add((room, target))

    def reached(start):
        seen, open_ = set(), [start]
        while open_:
            new = arrows.get(open_.pop(), set()) - seen
            seen |= new
            open_ += new
        return seen

    assert [folder for folder in arrows if folder in reached(folder)] == []


def test_core_has_no_clock_socket_thread_or_chance():
    core = [path for path in MODULES if room_of(name_of(path)) in CORE]
    wrong = [
        f"{name_of(path)}:{line}: {name}"
        for path in core
        for line, name in imports_of(path)
        if name.partition(".")[0] in NOT_IN_CORE
    ]
    calls = [
        f"{name_of(path)}:{node.lineno}: {ast.unparse(node.func)}()"
        for path in core
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and re.search(r"^(open|input|print)$|\bdatetime\.(now|utcnow|today)$", ast.unparse(node.func))
    ]
    assert wrong + calls == []


def modules_after(statement):
    """The names in sys.modules after `statement` in a new interpreter."""
    code = f"import sys\n{statement}\nprint(*sys.modules)"
    command = [sys.executable, "-c", code]
    return set(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split())


def test_import_is_light():
    loaded = modules_after("import rmqlab")
    assert "rmqlab" in loaded
    assert "rmqlab_tools" not in loaded
    assert loaded.isdisjoint(HEAVY)


def test_kernel_imports_are_light():
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in MODULES
        if name_of(path).startswith("rmqlab/") and path.name != "__main__.py"
    ]
    loaded = modules_after(f"import {', '.join(names)}")
    assert set(names) <= loaded
    assert loaded.isdisjoint(HEAVY)
    assert not [name for name in loaded if name.startswith("rmqlab_tools")]
