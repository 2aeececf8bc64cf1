"""Where work is done: in this process, or on the nodes of a Ray cluster."""
