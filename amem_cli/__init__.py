"""amem: a command-line Zettelkasten that organises itself."""
