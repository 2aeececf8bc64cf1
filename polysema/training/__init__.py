"""Learning a lexicon from a corpus."""

from polysema import kernels as kernels  # the first to say that the part that trains is not installed
