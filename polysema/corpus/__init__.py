"""From raw text to an encoded corpus."""
