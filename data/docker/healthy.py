"""Whether a container does what it is for: exit 0, or 1 with one line that says what is missing.

`namesrv HOST:PORT`: the name server answers, and knows a broker that answers too. `metrics URL`: the doctor's last look
is not older than two minutes.
"""

from __future__ import annotations

import re
import sys
import time
import urllib.request

OLDEST_LOOK_S = 120
LOOK = re.compile(r"^rmqlab_look_time_seconds (\S+)$", re.MULTILINE)


def of_name_server(address: str) -> str | None:
    """What is wrong with a name server and its brokers; None if nothing is."""
    import rmqlab
    from rmqlab.errors import BadInput

    try:
        look = rmqlab.doctor(address).look
    except BadInput as error:
        return str(error)
    answered = len(look.cost)
    return None if answered > 1 else f"{address}: {answered} server answered; name server and broker are wanted"


def of_metrics(url: str) -> str | None:
    """What is wrong with a doctor that serves figures; None if nothing is."""
    with urllib.request.urlopen(url, timeout=4) as answer:  # noqa: S310 - the address of our own compose file
        look = LOOK.search(answer.read().decode())
    if look is None:
        return f"{url}: the doctor has not looked yet"
    age = time.time() - float(look[1])
    return None if age <= OLDEST_LOOK_S else f"{url}: the last look is {age:.0f} s old"


def main(kind: str, address: str) -> int:
    """Ask, say what is wrong, and return the exit status."""
    try:
        wrong = {"namesrv": of_name_server, "metrics": of_metrics}[kind](address)
    except OSError as error:
        wrong = str(error)
    if wrong:
        print(wrong)  # noqa: T201
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
