"""How much the property tests try: `quick`, `default`, `ci` or `deep`, by HYPOTHESIS_PROFILE."""

from __future__ import annotations

import os
from datetime import timedelta

from hypothesis import HealthCheck, settings

# By default examples do not depend on chance: what was green stays green until somebody changes
# something. `ci` and `deep` look for what nobody has seen yet and print how to see it again.
settings.register_profile("quick", max_examples=10, deadline=None, derandomize=True)
settings.register_profile("default", max_examples=60, deadline=None, derandomize=True)
settings.register_profile("ci", max_examples=300, deadline=None, print_blob=True)
settings.register_profile(
    "deep",
    max_examples=5000,
    deadline=timedelta(seconds=20),
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def load_profile() -> None:
    """Put the profile in force that the environment names."""
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def examples(share: float) -> settings:
    """A share of the profile's examples, for a test that is much cheaper or dearer than most."""
    return settings(max_examples=max(1, round(settings().max_examples * share)))
