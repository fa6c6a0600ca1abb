"""The kinds of filter expression 4.8.0 knows by name (4.8.0 `ExpressionType`)."""

from __future__ import annotations

from typing import Final

TAG: Final = "TAG"
SQL92: Final = "SQL92"


def is_tag_type(expression_type: str | None) -> bool:
    """Tell whether the type means tag filtering: null, empty and `TAG` do, nothing else (case counts; row F-39)."""
    return expression_type is None or expression_type in ("", TAG)
