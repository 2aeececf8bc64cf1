"""polysema: words as density matrices, mixtures of their senses.

The public names, in the order of the flow. Each is loaded when it is first used, so that ``import polysema`` is quick;
not even ``typing`` is loaded here: a command cannot catch Ctrl-C before its package is imported.
"""

from __future__ import annotations

import sys

from polysema.version import __version__ as __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from polysema.composition.compose import Composer as Composer
    from polysema.composition.compose import Composition as Composition
    from polysema.composition.compose import Method as Method
    from polysema.composition.compose import Step as Step
    from polysema.composition.compose import fold as fold
    from polysema.composition.methods import METHODS as METHODS
    from polysema.composition.methods import VECTOR_METHODS as VECTOR_METHODS
    from polysema.composition.occurrences import Occurrence as Occurrence
    from polysema.composition.occurrences import find_occurrences as find_occurrences
    from polysema.composition.phrases import Brackets as Brackets
    from polysema.composition.phrases import PlainText as PlainText
    from polysema.composition.trees import Leaf as Leaf
    from polysema.composition.trees import Node as Node
    from polysema.composition.trees import either as either
    from polysema.composition.trees import from_pattern as from_pattern
    from polysema.composition.trees import parse_brackets as parse_brackets
    from polysema.corpus.build import build_corpus as build_corpus
    from polysema.corpus.corpus import Corpus as Corpus
    from polysema.corpus.normalisation import Normalisation as Normalisation
    from polysema.density import DensityMatrix as DensityMatrix
    from polysema.drawing import entropy_tree as entropy_tree
    from polysema.drawing import heat_map as heat_map
    from polysema.drawing import senses_plane as senses_plane
    from polysema.encoders.contextual import Contextual as Contextual
    from polysema.encoders.huggingface import Encoder as Encoder
    from polysema.errors import CorpusError as CorpusError
    from polysema.errors import DataError as DataError
    from polysema.errors import Failed as Failed
    from polysema.errors import FormatError as FormatError
    from polysema.errors import InputError as InputError
    from polysema.errors import MatrixError as MatrixError
    from polysema.errors import MissingExtraError as MissingExtraError
    from polysema.errors import PolysemaError as PolysemaError
    from polysema.errors import TreeError as TreeError
    from polysema.errors import UnknownChoiceError as UnknownChoiceError
    from polysema.errors import UnknownWordError as UnknownWordError
    from polysema.evaluation.ambiguity import ambiguity_correlation as ambiguity_correlation
    from polysema.evaluation.datasets import EvaluationSet as EvaluationSet
    from polysema.evaluation.datasets import read_set as read_set
    from polysema.evaluation.evaluate import evaluate as evaluate
    from polysema.evaluation.evaluate import evaluate_models as evaluate_models
    from polysema.evaluation.results import Evaluation as Evaluation
    from polysema.evaluation.statistics import paired_test as paired_test
    from polysema.explorer.server import Explorer as Explorer
    from polysema.explorer.server import explore as explore
    from polysema.integrations.frames import frame as frame
    from polysema.lexicon.lexicon import Lexicon as Lexicon
    from polysema.lexicon.lexicon import VectorLexicon as VectorLexicon
    from polysema.lexicon.lexicon import from_gensim as from_gensim
    from polysema.lexicon.lexicon import load as load
    from polysema.meanings.ambiguity import Ambiguity as Ambiguity
    from polysema.meanings.context_model import ContextModel as ContextModel
    from polysema.meanings.descriptions import SenseDescription as SenseDescription
    from polysema.meanings.parts import EncoderPart as EncoderPart
    from polysema.meanings.parts import Information as Information
    from polysema.meanings.parts import Inventory as Inventory
    from polysema.meanings.parts import Parts as Parts
    from polysema.meanings.parts import SenseClusters as SenseClusters
    from polysema.meanings.parts import Speech as Speech
    from polysema.meanings.results import Neighbour as Neighbour
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
    from polysema.senses.adapt import adapt as adapt
    from polysema.senses.describe import describe as describe
    from polysema.senses.disambiguation import Disambiguation as Disambiguation
    from polysema.senses.disambiguation import SenseInContext as SenseInContext
    from polysema.senses.negation import NEGATIONS as NEGATIONS
    from polysema.senses.senses import Sense as Sense
    from polysema.training.models import MODELS as MODELS
    from polysema.training.models import train as train
    from polysema.vectors import Vector as Vector
    from polysema.vocabulary import Vocabulary as Vocabulary

_NAMES = {
    # text to an encoded corpus
    "corpus.build": "build_corpus",
    "corpus.corpus": "Corpus",
    "corpus.normalisation": "Normalisation",
    # learning a lexicon from a corpus
    "training.models": "MODELS train",
    # words and their counts
    "vocabulary": "Vocabulary",
    # one density matrix, and what can be asked of it
    "density": "DensityMatrix",
    "vectors": "Vector",
    "measures": "similarity overlap entropy purity effective_senses fidelity trace_distance "
    "relative_entropy k_hyp k_ba k_e",
    # a vocabulary with its density matrices, or its vectors; several as one
    "lexicon.lexicon": "load from_gensim Lexicon VectorLexicon",
    "meanings.parts": "Parts EncoderPart SenseClusters Information Inventory Speech",
    "meanings.context_model": "ContextModel",
    "meanings.results": "Neighbour",
    "meanings.ambiguity": "Ambiguity",
    "senses.senses": "Sense",
    "meanings.descriptions": "SenseDescription",
    # what a corpus shows of a lexicon's senses
    "senses.describe": "describe",
    "senses.adapt": "adapt",
    # matrices from contexts and from encoders
    "encoders.huggingface": "Encoder",
    "encoders.contextual": "Contextual",
    # composition
    "composition.methods": "METHODS VECTOR_METHODS",
    "senses.negation": "NEGATIONS",
    "composition.compose": "Composer Method fold Composition Step",
    "composition.trees": "Leaf Node parse_brackets either from_pattern",
    "composition.phrases": "PlainText Brackets",
    "composition.occurrences": "Occurrence find_occurrences",
    # sentences in plain English
    "parsing.sentences": "parse_sentence parse_sentences",
    # senses in context
    "senses.disambiguation": "Disambiguation SenseInContext",
    # evaluation
    "evaluation.evaluate": "evaluate evaluate_models",
    "evaluation.results": "Evaluation",
    "evaluation.datasets": "EvaluationSet read_set",
    "evaluation.ambiguity": "ambiguity_correlation",
    "evaluation.statistics": "paired_test",
    # pictures
    "drawing": "entropy_tree heat_map senses_plane",
    # as a DataFrame
    "integrations.frames": "frame",
    # in a browser
    "explorer.server": "explore Explorer",
    # what can go wrong
    "errors": "PolysemaError InputError MatrixError UnknownWordError UnknownChoiceError TreeError "
    "FormatError CorpusError DataError MissingExtraError Failed",
}
_WHERE = {name: f"polysema.{module}" for module, names in _NAMES.items() for name in names.split()}
__all__ = ["__version__", *_WHERE]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'polysema' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


if ("IPython" in sys.modules and sys.modules["IPython"].get_ipython() is not None) or "marimo" in sys.modules:
    from polysema.notebook import register

    register()
