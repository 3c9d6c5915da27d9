"""Every check of the kit, in the order in which they run. One function each; its first line of documentation is its promise."""
from dataclasses import dataclass

CHECKS = []


@dataclass
class Check:
    name: str
    promise: str
    variant: str
    run: object
    environment: object


def check(variant="full", environment=()):
    """Marks a check. It gets a Gate whose worker, of that variant, has just been started."""
    def mark(function):
        CHECKS.append(Check(function.__name__, function.__doc__.strip().splitlines()[0], variant, function, environment))
        return function
    return mark


def all_checks():
    from . import starting, jobs, failures, widths, streams, bodies, liveness, storms, endings, breaches  # noqa: F401  in this order
    return CHECKS
