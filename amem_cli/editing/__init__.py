"""What a person does to notes: add, change, undo, review."""
