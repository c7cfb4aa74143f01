"""What Obsidian reads in a text: pure rules."""
