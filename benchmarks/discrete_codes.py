"""Ways to train discrete codes on MNIST: bounds under exact codes, and under the codes of training.

Stochastic binarisation, 200 units, 40 slots, the published networks (512, 384, 256), batches of 100. Measured on rows
of the split "validation", which are not fitted, so that defaults can be chosen by it; ``--rows test`` measures the
test images.

    python benchmarks/discrete_codes.py --data-dir DIR [--workers 12] [--steps 10000] [--only second-order]
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

from fits import SPLITS, arguments_of, fit_all

import fewhot as fh
from fewhot.data import load_dataset
from fewhot.metrics import activity, relaxation_gap

COMMON: dict[str, Any] = {
    "n_components": 200,
    "n_slots": 40,
    "hidden_layer_sizes": (512, 384, 256),
    "likelihood": "bernoulli",
    "observation": "stochastic-binarise",
    "batch_size": 100,
    "n_iter_no_change": None,
    "compile": "graph",
}
WAYS: dict[str, dict[str, Any]] = {
    "second-order": {},
    "second-order-4": {"n_draws": 4},
    "straight-through": {"estimator": "straight-through"},
    "straight-through-concrete": {"estimator": "straight-through-concrete"},
    "straight-through-annealed": {"estimator": "straight-through-concrete", "temperature_decay": 1e-4},
    "rao-blackwellised": {"estimator": "rao-blackwellised"},
    "score-function": {"estimator": "score-function"},
    "muprop": {"estimator": "muprop"},
    "leave-one-out": {"estimator": "leave-one-out"},
    "leave-one-out-8": {"estimator": "leave-one-out", "n_draws": 8},
    "vimco": {"estimator": "vimco"},
    "concrete-annealed": {"estimator": "concrete", "temperature_decay": 1e-4},
    "off-slots-choose": {"off_slots_choose": True},
    "even-prior": {"alpha": 0.5},
    "eight-on": {"l0": 8},
    "sixteen-on": {"l0": 16},
    "twenty-four-on": {"l0": 24},
    "slow": {"learning_rate": 3e-4},
    "fast": {"learning_rate": 2e-3},
    "joint": {"prior": "joint"},
    "joint-4": {"prior": "joint", "n_draws": 4},
    "joint-straight-through": {"prior": "joint", "estimator": "straight-through"},
    "joint-eight-on": {"prior": "joint", "l0": 8},
    "joint-twenty-four-on": {"prior": "joint", "l0": 24},
    "joint-thirty-two-on": {"prior": "joint", "l0": 32},
    "joint-fast": {"prior": "joint", "learning_rate": 2e-3},
    "joint-twenty-four-on-4": {"prior": "joint", "l0": 24, "n_draws": 4},
}
SLOTS = ("shared", "independent")


def measure(task: tuple[str, str, int], *, steps: int, rows: str, data_dir: Path) -> dict[str, Any]:
    """Fit one model and look at rows it has not seen."""
    slots, way, seed = task
    fitted, held = (load_dataset("mnist", split, data_dir) for split in SPLITS[rows])
    begin = time.perf_counter()
    arguments = COMMON | {"l0": 16, "slots": slots, "max_steps": steps, "random_state": seed} | WAYS[way]
    if "alpha" in arguments:
        del arguments["l0"]
    model = fh.SDLGM(**arguments).fit(fitted.X)
    seconds = time.perf_counter() - begin
    exact = float(model.score(held.X))
    use = activity(model.transform(held.X)).to_dict()
    return {
        "slots": slots,
        "way": way,
        "seed": seed,
        "steps": steps,
        "nelbo": -exact,
        "as_trained": -(exact + relaxation_gap(model, held.X).mean),
        "kl": float(sum(value for name, value in model.history_[-1]["terms"].items() if name.startswith("kl"))),
        **use,
        "fit_s": seconds,
    }


def main() -> None:
    """Measure every way, print a line each, and keep what is measured so far as JSON."""
    parser = arguments_of(__doc__, "results/discrete-codes", rows="validation", seeds=[0])
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--only", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--slots", nargs="+", choices=SLOTS, default=SLOTS)
    given = parser.parse_args()
    tasks = [(slots, way, seed) for way in given.only for slots in given.slots for seed in given.seeds]
    measured = partial(measure, steps=given.steps, rows=given.rows, data_dir=given.data_dir)
    fit_all(tasks, measured, given, COMMON)


if __name__ == "__main__":
    main()
