"""Reproduction of the paper: its models, its published figures, and a report that compares them with ours."""
