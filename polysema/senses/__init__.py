"""Senses as a corpus shows them: how many a word has, how much contexts tell, what each looks like in use."""
