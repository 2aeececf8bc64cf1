"""The paper again: what it trained, what it published, and the report that sets our figures beside its own."""
