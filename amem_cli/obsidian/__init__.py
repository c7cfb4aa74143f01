"""What amem knows of a vault, in files that Obsidian reads without a plugin."""
