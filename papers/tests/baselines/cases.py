"""Arguments with which a tiny fit of these recommenders is quick."""

from __future__ import annotations

from tests.baselines.cases import SMALL

SMALL["SLIM"] = {"l1": 0.1, "l2": 0.1, "max_iter": 200}
SMALL["CDAE"] = {
    "n_components": 4,
    "regularisation": 0.1,
    "learning_rate": 0.05,
    "max_epochs": 30,
    "random_state": 0,
}
EVERY = PERSONAL = ["SLIM", "CDAE"]
