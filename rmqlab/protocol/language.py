"""The languages a peer may name in a frame (4.8.0 `LanguageCode`); the index is the code on the wire."""

from __future__ import annotations

from typing import Final

LANGUAGES: Final = (
    "JAVA",
    "CPP",
    "DOTNET",
    "PYTHON",
    "DELPHI",
    "ERLANG",
    "RUBY",
    "OTHER",
    "HTTP",
    "GO",
    "PHP",
    "OMS",
)
