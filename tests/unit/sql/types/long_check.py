"""Random doubles as text, compared with the Java on this machine, which must be one before version 19.

python -m tests.unit.sql.types.long_check 1000000
"""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

from headrace.sql.types.java_text import double_text

_PROGRAM = Path(__file__).parent / "tables" / "Doubles.java"


def main(count: int) -> int:
    lines = subprocess.run(["java", str(_PROGRAM), str(count)], check=True, capture_output=True, text=True).stdout
    wrong = 0
    for line in lines.splitlines():
        bits, java = line.split(" ")
        value: float = struct.unpack(">d", bytes.fromhex(bits.rjust(16, "0")))[0]
        if double_text(value) != java:
            wrong += 1
            print(f"{bits}: {double_text(value)} here, {java} in Java")
    print(f"{count - wrong} equal, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
