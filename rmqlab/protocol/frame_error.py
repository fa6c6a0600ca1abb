"""A frame that cannot be read."""

from __future__ import annotations


class FrameError(Exception):
    """A frame that 4.8.0 cannot read either; `java_error` is the simple name of what it throws there."""

    def __init__(self, java_error: str, reason: str) -> None:
        """Keep the name of the Java error and say in words what is wrong."""
        super().__init__(f"{java_error}: {reason}")
        self.java_error = java_error
