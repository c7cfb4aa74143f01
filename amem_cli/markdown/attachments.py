"""Links to files that are not notes: pictures, recordings, documents."""

from __future__ import annotations

import re

_PICTURES = "avif|bmp|gif|heic|jpe?g|png|svg|tiff?|webp"


_RECORDINGS = "3gp|flac|m4a|mp3|ogg|opus|wav|mkv|mov|mp4|ogv|webm"


_DOCUMENTS = "pdf|canvas|base|csv|docx?|epub|od[pst]|pptx?|rtf|txt|xlsx?|zip"


_ATTACHMENT = re.compile(rf"[^/]\.(?:{_PICTURES}|{_RECORDINGS}|{_DOCUMENTS})\Z", re.IGNORECASE)


def is_attachment(target: str) -> bool:
    """Whether a link target names a file of another kind, such as a picture, by its ending."""
    return _ATTACHMENT.search(target) is not None
