"""The checks of `amem doctor`, and what they mend."""
