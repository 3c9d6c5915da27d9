"""The version of the SDK."""
VERSION = "0.1.0"
