"""The suite "loop" of fewhot.bench: training speed against the plainest loops.

python benchmarks/loop.py [--device cpu|cuda] [--commit HASH] [--out DIR]
"""

import sys

from fewhot.bench.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["loop", *sys.argv[1:]]))
