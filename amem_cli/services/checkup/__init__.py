"""The checks of `amem doctor` that look at the vault itself, by subject."""
