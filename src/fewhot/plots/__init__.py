"""Pictures of codes, units and runs: matplotlib figures that belong to no window and change no setting."""

from fewhot.plots.amortisation import amortisation
from fewhot.plots.class_activation import class_activation
from fewhot.plots.codes import codes
from fewhot.plots.curves import curves
from fewhot.plots.effects import UnitEffect, unit_effects
from fewhot.plots.images import images
from fewhot.plots.interpolation import interpolation
from fewhot.plots.rare_words import rare_words
from fewhot.plots.reconstructions import reconstructions
from fewhot.plots.reliability import reliability
from fewhot.plots.samples import samples
from fewhot.plots.source_correlation import source_correlation
from fewhot.plots.spectrum import spectrum
from fewhot.plots.sweep import sweep
from fewhot.plots.top_words import top_words
from fewhot.plots.traversals import traversals
from fewhot.plots.units import units
from fewhot.plots.usage import usage

__all__ = [
    "UnitEffect",
    "amortisation",
    "class_activation",
    "codes",
    "curves",
    "images",
    "interpolation",
    "rare_words",
    "reconstructions",
    "reliability",
    "samples",
    "source_correlation",
    "spectrum",
    "sweep",
    "top_words",
    "traversals",
    "unit_effects",
    "units",
    "usage",
]
