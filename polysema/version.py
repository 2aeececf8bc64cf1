"""The version of polysema, which models note in their metadata."""

__version__ = "0.1.0"
