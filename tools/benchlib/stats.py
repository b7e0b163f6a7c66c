"""Medians with 95 % intervals, and ratios of two sides that took turns."""

import math
import random
import statistics

REPEATS_MIN = 30
RESAMPLES = 2000


def figure(values, scale=1.0):
    """Median and the interval that holds the true median with 95 % (order statistics, no shape assumed)."""
    values = sorted(value / scale for value in values)
    count = len(values)
    reach = 0.98 * math.sqrt(count)
    low = max(0, math.floor(count / 2 - reach))
    high = min(count - 1, math.ceil(count / 2 + reach))
    return {"median": statistics.median(values), "low": values[low], "high": values[high], "runs": count}


def ratio(theirs, ours):
    """How many times more the other side takes; the interval by resampling rounds, always in the same way.

    Where both have as many values, a round's two stay together: a busy moment hit both.
    """
    paired = len(theirs) == len(ours)
    dice = random.Random(1)
    found = []
    for _ in range(RESAMPLES):
        picked = [dice.randrange(len(ours)) for _ in ours]
        others = picked if paired else [dice.randrange(len(theirs)) for _ in theirs]
        below = statistics.median(ours[i] for i in picked)
        found.append(statistics.median(theirs[i] for i in others) / below if below > 0 else math.inf)
    found.sort()
    below = statistics.median(ours)
    return {"median": statistics.median(theirs) / below if below > 0 else math.inf,
            "low": found[int(0.025 * RESAMPLES)], "high": found[int(0.975 * RESAMPLES) - 1]}


def percentile(values, percent):
    values = sorted(values)
    return values[min(len(values) - 1, math.ceil(len(values) * percent / 100) - 1)]


def compare(metric, name, unit, ours, theirs, at_least, scale=1.0, **more):
    """A row: our figure, theirs, the ratio; met if the whole interval is not below the target."""
    times = ratio(theirs, ours)
    return {"metric": metric, "name": name, "unit": unit, "vtddl": figure(ours, scale),
            "other": figure(theirs, scale), "ratio": times, "target": f">= {at_least:g}x" if at_least else "",
            "bound": at_least, "met": times["low"] >= at_least if at_least else None, **more}


def bounded(metric, name, unit, values, at_most, scale=1.0, **more):
    """A row with a ceiling of its own, no other side; met if the whole interval is below it."""
    found = figure(values, scale) if isinstance(values, list) else \
        {"median": values / scale, "low": values / scale, "high": values / scale, "runs": 1}
    return {"metric": metric, "name": name, "unit": unit, "vtddl": found, "other": None, "ratio": None,
            "target": f"<= {at_most:g} {unit}" if at_most is not None else "",
            "met": found["high"] <= at_most if at_most is not None else None, **more}


def note(metric, name, text):
    """A row that only says something: why a thing was not measured here."""
    return {"metric": metric, "name": name, "unit": "", "vtddl": None, "other": None, "ratio": None, "target": "",
            "met": None, "note": text}
