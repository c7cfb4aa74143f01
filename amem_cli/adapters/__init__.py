"""One outside technology each, behind the ports of the core."""
