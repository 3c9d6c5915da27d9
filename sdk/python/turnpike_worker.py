"""Placeholder: the SDK comes with w5-pysdk."""
