"""A part of the fake."""
