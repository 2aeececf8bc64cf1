"""Slots: a verb's subject and object, a noun's adjective, as mixtures of what fills them; see ``docs/slots.md``."""
