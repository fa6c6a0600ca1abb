"""The table of limits says what the code does."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from rmqlab.checkout import ROOT

UNITS = {"": 1, "bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "s": 1, "ms": 1}
ROW = re.compile(r"^\| .+ \| ([\d,.]+) ?(\w*) \| `([\w.]+)\.(\w+)` \|$", re.MULTILINE)
PAGE = (ROOT / "docs/reference/limits.md").read_text(encoding="utf-8")
ROWS = ROW.findall(PAGE)


def test_every_row_has_a_figure_and_a_constant():
    assert len(ROWS) == sum(line.startswith("| ") and not line.startswith("| What |") for line in PAGE.splitlines())


@pytest.mark.parametrize(("figure", "unit", "module", "name"), ROWS, ids=[row[3] for row in ROWS])
def test_a_figure_is_that_of_the_code(figure, unit, module, name):
    assert float(figure.replace(",", "")) * UNITS[unit] == getattr(import_module(module), name)


def test_every_bound_that_strangers_meet_has_a_row():
    """Constants named as bounds in modules that read what comes from outside."""
    named = {f"{module}.{name}" for _, _, module, name in ROWS}
    for module in {module for _, _, module, _ in ROWS if module.startswith(("rmqlab.", "rmqlab_tools."))}:
        for name, value in vars(import_module(module)).items():
            if re.match(r"(MOST|LONGEST|MAX)_?", name) and isinstance(value, int | float) and name.isupper():
                assert f"{module}.{name}" in named or f"{module}.{name}" in OUR_OWN, name


OUR_OWN = {  # of what we print ourselves
    "rmqlab_tools.search.lint.limits.MOST_EXAMINED", "rmqlab_tools.search.lint.limits.MOST_SLOTS",
    "rmqlab_tools.search.lint.limits.MOST_MEMBERS_NAMED", "rmqlab_tools.search.explorer.explore.MAX_RUNS",
}  # fmt: skip
