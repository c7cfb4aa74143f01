"""The checks of `amem doctor`, and their fixes."""
