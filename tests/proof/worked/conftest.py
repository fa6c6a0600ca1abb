"""A copy of the tree in which all worked examples were tried, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.proof.worked.patches import EXAMPLES, apply, lay_out, patch_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The copy, and what git said of each patch that did not fit."""
    tree = tmp_path_factory.mktemp("worked") / "tree"
    lay_out(tree)
    return tree, {name: complaint for name in EXAMPLES if (complaint := apply(patch_of(name), tree))}
