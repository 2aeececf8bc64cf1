"""Encoders: word vectors in their sentences, and the density matrices made of them."""
