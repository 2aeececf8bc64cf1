"""Words with their density matrices or vectors: look-up, comparison, neighbours, ambiguity. No sentences here."""
