"""Lexicons, the public class on top of meanings and senses; their formats on disk."""
