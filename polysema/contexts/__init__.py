"""The occurrences of words in their contexts, and density matrices made of them."""
