"""Numbers with exponents that no BigDecimal has: 4.8.0 refuses the text that holds one."""

from __future__ import annotations

import pytest

from rmqlab.protocol import fastjson
from rmqlab.protocol.header import FrameError


@pytest.mark.parametrize("number", ["1e9999999999999999999", "-1e-9223372036854775807", "0.1e99999999999999999999"])
def test_an_exponent_that_no_number_has_is_no_json(number):
    with pytest.raises(FrameError, match="exponent of"):
        fastjson.read(f'{{"a": {number}}}'.encode())
