"""Text files that somebody names: plain or packed, and one clear line for what cannot be read."""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path


def read_text(path: Path, wanted: str) -> str:
    """The text of a UTF-8 file; one whose name ends in .gz is unpacked.

    Raises:
        BadInput: it is not there, cannot be read or is no text; ``wanted`` says what would be right.
    """
    try:
        data = path.read_bytes()
        return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8-sig")
    except FileNotFoundError as error:
        raise BadInput(f"{path}: there is no such file; give {wanted}") from error
    except gzip.BadGzipFile as error:
        raise BadInput(f"{path}: its name ends in .gz, and it is not packed so; give {wanted}") from error
    except (EOFError, zlib.error) as error:
        raise BadInput(f"{path}: cannot be unpacked ({error}); give {wanted}") from error
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); give {wanted}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: this is no UTF-8 text (byte {error.start}); give {wanted}") from error
