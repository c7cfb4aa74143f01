"""What operating systems do in different ways; nothing else calls what one of them lacks."""
