"""A request, or a rule of access control, that is refused."""

from __future__ import annotations

from rmqlab.errors import BadInput


class AclError(BadInput):
    """What 4.8.0 throws as `AclException`; the text is its message."""
