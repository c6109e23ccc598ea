"""Metrics: arrays in, numbers out; fitted estimators in, a summary with verdicts out."""

from fewhot.metrics.activity import Activity, activity
from fewhot.metrics.alarms import Alarm, alarms
from fewhot.metrics.calibration import Calibration, calibration, planted_calibration, self_calibration
from fewhot.metrics.class_words import ClassDistances, class_distances, class_divergences
from fewhot.metrics.classes import ClassActivation, class_activation, gamma_class
from fewhot.metrics.code_kinds import activity_probabilities, code_matrix
from fewhot.metrics.dci import DCI, dci
from fewhot.metrics.disentanglement import InfoMEC, InformationGap, infomec, mig
from fewhot.metrics.estimates import Estimate, estimate
from fewhot.metrics.interpolation import Interpolation, Switch, interpolate
from fewhot.metrics.label_references import LabelReferences
from fewhot.metrics.labels import macro_f1, micro_f1
from fewhot.metrics.likelihood import (
    Perplexity,
    exact_bound,
    information,
    iwae,
    mutual_information,
    perplexities,
    perplexity,
    reconstruction,
    relaxation_gap,
    relaxed_bound,
)
from fewhot.metrics.linear_labels import LinearLabels, fit_linear_labels
from fewhot.metrics.marginal_probing import MarginalProbe, marginal_probe, marginal_probe_codes
from fewhot.metrics.probing import ProbeResult, linear_probe, probe_codes, stratified_rows
from fewhot.metrics.ranking import ndcg_at, ndcg_of, recall_at, recall_of, top_items
from fewhot.metrics.rare_words import code_divergence, rare_word_correlation, rare_words
from fewhot.metrics.recommendation import RankingScores, evaluate_recommender
from fewhot.metrics.recovery import Recovery, recovery, unit_directions
from fewhot.metrics.references import References, fit_references, fraction_unexplained
from fewhot.metrics.sources import SourceCorrelation, source_correlation
from fewhot.metrics.sparsity import ActiveUnits, active_units, average_hoyer, hoyer, support_overlap
from fewhot.metrics.spectrum import Spectrum, jacobian_spectrum
from fewhot.metrics.stability import Matching, unit_matching
from fewhot.metrics.summarise import summarise
from fewhot.metrics.summary import Number, Summary
from fewhot.metrics.topics import inverted_rbo, topic_coherence, topic_diversity
from fewhot.metrics.traversal import Traversal, traverse
from fewhot.metrics.unit_texts import TopTexts, unit_texts
from fewhot.metrics.verdicts import RULES, Rule
from fewhot.metrics.words import TopWords, code_words, top_words

__all__ = [
    "DCI",
    "RULES",
    "ActiveUnits",
    "Activity",
    "Alarm",
    "Calibration",
    "ClassActivation",
    "ClassDistances",
    "Estimate",
    "InfoMEC",
    "InformationGap",
    "Interpolation",
    "LabelReferences",
    "LinearLabels",
    "MarginalProbe",
    "Matching",
    "Number",
    "Perplexity",
    "ProbeResult",
    "RankingScores",
    "Recovery",
    "References",
    "Rule",
    "SourceCorrelation",
    "Spectrum",
    "Summary",
    "Switch",
    "TopTexts",
    "TopWords",
    "Traversal",
    "active_units",
    "activity",
    "activity_probabilities",
    "alarms",
    "average_hoyer",
    "calibration",
    "class_activation",
    "class_distances",
    "class_divergences",
    "code_divergence",
    "code_matrix",
    "code_words",
    "dci",
    "estimate",
    "evaluate_recommender",
    "exact_bound",
    "fit_linear_labels",
    "fit_references",
    "fraction_unexplained",
    "gamma_class",
    "hoyer",
    "infomec",
    "information",
    "interpolate",
    "inverted_rbo",
    "iwae",
    "jacobian_spectrum",
    "linear_probe",
    "macro_f1",
    "marginal_probe",
    "marginal_probe_codes",
    "micro_f1",
    "mig",
    "mutual_information",
    "ndcg_at",
    "ndcg_of",
    "perplexities",
    "perplexity",
    "planted_calibration",
    "probe_codes",
    "rare_word_correlation",
    "rare_words",
    "recall_at",
    "recall_of",
    "reconstruction",
    "recovery",
    "relaxation_gap",
    "relaxed_bound",
    "self_calibration",
    "source_correlation",
    "stratified_rows",
    "summarise",
    "support_overlap",
    "top_items",
    "top_words",
    "topic_coherence",
    "topic_diversity",
    "traverse",
    "unit_directions",
    "unit_matching",
    "unit_texts",
]
