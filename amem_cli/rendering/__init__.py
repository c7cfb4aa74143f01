"""Results and errors as text or JSON: the only place that formats."""
