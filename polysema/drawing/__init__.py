"""Pictures (the extra ``plots``: matplotlib). Each function returns a figure: ``figure.savefig("name.png")``."""
