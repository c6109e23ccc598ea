"""How much memory NFA takes for a million sparse rows, against what the rows and the network themselves take.

``python benchmarks/counts_memory.py --out results/counts-memory`` makes 1,000,000 rows of 200,000 columns with 50
million entries, takes 20 steps and encodes all rows, in a process of its own that has nothing else to remember. Its
peak is compared with 3 x rows + 16 bytes x parameters + 16 bytes x batch x columns + 1 GB.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

N_ROWS, N_COLUMNS, A_ROW = 1_000_000, 200_000, 50
BATCH, HIDDEN, UNITS, STEPS = 200, 64, 32, 20
PARTS = ("data", "indices", "indptr")


def write_rows_in(folder: Path, n_rows: int) -> None:
    """Write the arrays of the matrix: as many entries in every row, popular columns more often."""
    rng = np.random.default_rng(0)
    indices = np.empty((n_rows, A_ROW), dtype=np.int32)
    blocks = N_COLUMNS // A_ROW
    for j in range(A_ROW):  # one column in each of 50 ranges, so that none comes twice
        indices[:, j] = j * blocks + (blocks * rng.random(n_rows) ** 3).astype(np.int32)
    np.save(folder / "indices.npy", indices.ravel())
    np.save(folder / "data.npy", rng.integers(1, 4, n_rows * A_ROW).astype(np.float32))
    np.save(folder / "indptr.npy", np.arange(0, n_rows * A_ROW + 1, A_ROW, dtype=np.int64))


def fit_and_encode(folder: Path) -> dict[str, Any]:
    """Fit, encode, and return the peak beside its limit, in bytes."""
    import fewhot as fh

    arrays = {name: np.load(folder / f"{name}.npy") for name in PARTS}
    n_rows = len(arrays["indptr"]) - 1
    X = sp.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(n_rows, N_COLUMNS))
    rows = sum(array.nbytes for array in arrays.values())
    model = fh.NFA(
        UNITS, hidden_layer_sizes=(HIDDEN,), n_layers=2, max_steps=STEPS, batch_size=BATCH, random_state=0
    ).fit(X)
    codes = model.transform(X)
    parameters = sum(parameter.numel() for parameter in model.module_.parameters())
    return {
        "rows": n_rows,
        "entries": int(X.nnz),
        "codes": list(codes.shape),
        "parameters": parameters,
        "peak": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "limit": 3 * rows + 16 * parameters + 16 * BATCH * N_COLUMNS + 10**9,
    }


def main() -> None:
    """Make the rows, measure in a fresh process, print and keep what it found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows (default: all)")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--commit")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(fit_and_encode(given.measure)))
        return
    with tempfile.TemporaryDirectory() as folder:
        write_rows_in(Path(folder), int(given.scale * N_ROWS))
        command = [sys.executable, __file__, "--measure", folder]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    print(f"peak {found['peak'] / 1e9:.2f} GB of {found['limit'] / 1e9:.2f} GB: {json.dumps(found)}")
    if given.out is not None:
        from fewhot.bench.facts import commit_of, machine

        given.out.mkdir(parents=True, exist_ok=True)
        report = {**found, "commit": commit_of(given.commit), **machine()}
        (given.out / "results.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
