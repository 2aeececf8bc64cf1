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

    from polysema.composition.compose import Composition as Composition
    from polysema.composition.compose import Method as Method
    from polysema.composition.compose import PhraseState as PhraseState
    from polysema.composition.compose import fold as fold
    from polysema.composition.methods import METHODS as METHODS
    from polysema.composition.phrases import Brackets as Brackets
    from polysema.composition.phrases import PlainText as PlainText
    from polysema.composition.trees import Leaf as Leaf
    from polysema.composition.trees import Node as Node
    from polysema.composition.trees import parse_brackets as parse_brackets
    from polysema.corpus.build import build_corpus as build_corpus
    from polysema.corpus.corpus import Corpus as Corpus
    from polysema.density import DensityMatrix as DensityMatrix
    from polysema.errors import Failed as Failed
    from polysema.errors import FormatError as FormatError
    from polysema.errors import InputError as InputError
    from polysema.errors import MissingExtraError as MissingExtraError
    from polysema.errors import PolysemaError as PolysemaError
    from polysema.errors import UnknownWordError as UnknownWordError
    from polysema.evaluation.evaluate import evaluate as evaluate
    from polysema.evaluation.evaluate import evaluate_models as evaluate_models
    from polysema.explorer.server import explore as explore
    from polysema.integrations.frames import frame as frame
    from polysema.lexicon.lexicon import Lexicon as Lexicon
    from polysema.lexicon.lexicon import VectorLexicon as VectorLexicon
    from polysema.lexicon.lexicon import from_gensim as from_gensim
    from polysema.lexicon.lexicon import load as load
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
    from polysema.senses.adapt import adapt as adapt
    from polysema.senses.answers import Disambiguation as Disambiguation
    from polysema.senses.answers import Sense as Sense
    from polysema.senses.describe import describe as describe
    from polysema.training.models import MODELS as MODELS
    from polysema.training.models import train as train
    from polysema.use.change import change as change
    from polysema.use.concordance import concordance as concordance
    from polysema.use.frequencies import frequencies as frequencies
    from polysema.use.tag import tag as tag
    from polysema.vocabulary import Vocabulary as Vocabulary

_NAMES = {
    # text to an encoded corpus
    "corpus.build": "build_corpus",
    "corpus.corpus": "Corpus",
    # learning a lexicon from a corpus
    "training.models": "MODELS train",
    # one density matrix, and what can be computed from it
    "density": "DensityMatrix",
    "measures": "similarity overlap entropy purity effective_senses fidelity trace_distance "
    "relative_entropy k_hyp k_ba k_e",
    # a vocabulary with its density matrices, or its vectors
    "vocabulary": "Vocabulary",
    "lexicon.lexicon": "load from_gensim Lexicon VectorLexicon",
    # senses, in a lexicon, in texts and in a corpus
    "senses.answers": "Sense Disambiguation",
    "senses.describe": "describe",
    "senses.adapt": "adapt",
    # composition
    "composition.methods": "METHODS",
    "composition.compose": "fold Composition Method PhraseState",
    "composition.trees": "Leaf Node parse_brackets",
    "composition.phrases": "PlainText Brackets",
    "parsing.sentences": "parse_sentence",
    # words in use, and over time
    "use.tag": "tag",
    "use.frequencies": "frequencies",
    "use.concordance": "concordance",
    "use.change": "change",
    # evaluation, tables, a local web application
    "evaluation.evaluate": "evaluate evaluate_models",
    "integrations.frames": "frame",
    "explorer.server": "explore",
    # errors
    "errors": "PolysemaError InputError UnknownWordError FormatError MissingExtraError Failed",
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
