"""Learning a lexicon from a corpus."""
