"""polysema: words as density matrices, mixtures of their senses.

The public names, in the order of the flow. Each is loaded when it is first used, so that ``import polysema`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from polysema.registry import provide

if TYPE_CHECKING:
    from polysema.composition.compose import Composition as Composition
    from polysema.composition.compose import fold as fold
    from polysema.composition.methods import METHODS as METHODS
    from polysema.composition.methods import VECTOR_METHODS as VECTOR_METHODS
    from polysema.composition.trees import Leaf as Leaf
    from polysema.composition.trees import Node as Node
    from polysema.composition.trees import from_pattern as from_pattern
    from polysema.composition.trees import parse_brackets as parse_brackets
    from polysema.contexts.context2dm import context2dm as context2dm
    from polysema.corpus.build import build_corpus as build_corpus
    from polysema.corpus.corpus import Corpus as Corpus
    from polysema.corpus.normalisation import Normalisation as Normalisation
    from polysema.density import DensityMatrix as DensityMatrix
    from polysema.drawing.entropy_tree import entropy_tree as entropy_tree
    from polysema.drawing.heat_map import heat_map as heat_map
    from polysema.drawing.senses_plane import senses_plane as senses_plane
    from polysema.encoders.bert2dm import bert2dm as bert2dm
    from polysema.encoders.contextual import Contextual as Contextual
    from polysema.encoders.huggingface import Encoder as Encoder
    from polysema.errors import PolysemaError as PolysemaError
    from polysema.evaluation.ambiguity import ambiguity_correlation as ambiguity_correlation
    from polysema.evaluation.datasets import EvaluationSet as EvaluationSet
    from polysema.evaluation.datasets import read_set as read_set
    from polysema.evaluation.evaluate import evaluate as evaluate
    from polysema.evaluation.evaluate import evaluate_models as evaluate_models
    from polysema.evaluation.results import Evaluation as Evaluation
    from polysema.evaluation.statistics import paired_test as paired_test
    from polysema.lexicon.disambiguation import disambiguate as disambiguate
    from polysema.lexicon.disambiguation import disambiguate_all as disambiguate_all
    from polysema.lexicon.ensemble import Ensemble as Ensemble
    from polysema.lexicon.formats import load as load
    from polysema.lexicon.lexicon import Lexicon as Lexicon
    from polysema.measures import effective_senses as effective_senses
    from polysema.measures import entropy as entropy
    from polysema.measures import fidelity as fidelity
    from polysema.measures import k_ba as k_ba
    from polysema.measures import k_e as k_e
    from polysema.measures import k_hyp as k_hyp
    from polysema.measures import overlap as overlap
    from polysema.measures import purity as purity
    from polysema.measures import relative_entropy as relative_entropy
    from polysema.measures import similarity as similarity
    from polysema.measures import trace_distance as trace_distance
    from polysema.parsing.sentences import parse_sentence as parse_sentence
    from polysema.parsing.sentences import parse_sentences as parse_sentences
    from polysema.training.models import MODELS as MODELS
    from polysema.training.models import train as train
    from polysema.vectors import Vector as Vector
    from polysema.vocabulary import Vocabulary as Vocabulary

__version__ = "0.1.0"

_WHERE = {
    # text to an encoded corpus
    "build_corpus": "polysema.corpus.build",
    "Corpus": "polysema.corpus.corpus",
    "Normalisation": "polysema.corpus.normalisation",
    # learning a lexicon from a corpus
    "MODELS": "polysema.training.models",
    "train": "polysema.training.models",
    # words and their counts
    "Vocabulary": "polysema.vocabulary",
    # one density matrix, and what can be asked of it
    "DensityMatrix": "polysema.density",
    "Vector": "polysema.vectors",
    "similarity": "polysema.measures",
    "overlap": "polysema.measures",
    "entropy": "polysema.measures",
    "purity": "polysema.measures",
    "effective_senses": "polysema.measures",
    "fidelity": "polysema.measures",
    "trace_distance": "polysema.measures",
    "relative_entropy": "polysema.measures",
    "k_hyp": "polysema.measures",
    "k_ba": "polysema.measures",
    "k_e": "polysema.measures",
    # a vocabulary with its density matrices
    "Lexicon": "polysema.lexicon.lexicon",
    # matrices from contexts and from encoders
    "context2dm": "polysema.contexts.context2dm",
    "bert2dm": "polysema.encoders.bert2dm",
    "Encoder": "polysema.encoders.huggingface",
    "Contextual": "polysema.encoders.contextual",
    "Ensemble": "polysema.lexicon.ensemble",
    "load": "polysema.lexicon.formats",
    # composition
    "METHODS": "polysema.composition.methods",
    "VECTOR_METHODS": "polysema.composition.methods",
    "Leaf": "polysema.composition.trees",
    "Node": "polysema.composition.trees",
    "parse_brackets": "polysema.composition.trees",
    "from_pattern": "polysema.composition.trees",
    "fold": "polysema.composition.compose",
    "Composition": "polysema.composition.compose",
    # evaluation
    "evaluate": "polysema.evaluation.evaluate",
    "evaluate_models": "polysema.evaluation.evaluate",
    "Evaluation": "polysema.evaluation.results",
    "EvaluationSet": "polysema.evaluation.datasets",
    "read_set": "polysema.evaluation.datasets",
    "ambiguity_correlation": "polysema.evaluation.ambiguity",
    "paired_test": "polysema.evaluation.statistics",
    # sentences in plain English
    "parse_sentence": "polysema.parsing.sentences",
    "parse_sentences": "polysema.parsing.sentences",
    # senses in context
    "disambiguate": "polysema.lexicon.disambiguation",
    "disambiguate_all": "polysema.lexicon.disambiguation",
    # pictures
    "entropy_tree": "polysema.drawing.entropy_tree",
    "heat_map": "polysema.drawing.heat_map",
    "senses_plane": "polysema.drawing.senses_plane",
    # what can go wrong
    "PolysemaError": "polysema.errors",
}
__all__ = ["__version__", *_WHERE]

provide("evaluation_html", "polysema.notebook:evaluation_html")
provide("report_html", "polysema.notebook:report_html")
provide("dot_chart", "polysema.drawing.charts:dot_chart")
provide("line_chart", "polysema.drawing.charts:line_chart")


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'polysema' has no attribute {name!r}")
    value = getattr(import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
