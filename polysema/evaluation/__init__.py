"""Evaluation: the data sets of the paper and a user's own, scores with their statistics, and the report."""
