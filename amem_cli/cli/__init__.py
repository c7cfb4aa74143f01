"""The commands: parse, call one service, render."""
