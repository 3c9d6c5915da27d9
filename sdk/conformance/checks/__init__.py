"""All checks of the kit, in the order in which they run. Each check is a function; the first line of its docstring says what it tests."""
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
    """Marks a function as a check. The function gets a Gate whose worker, of this variant, has just been started."""
    def mark(function):
        CHECKS.append(Check(function.__name__, function.__doc__.strip().splitlines()[0], variant, function, environment))
        return function
    return mark


def all_checks():
    from . import starting, jobs, failures, widths, streams, bodies, liveness, storms, endings, breaches  # noqa: F401  in this order
    return CHECKS
