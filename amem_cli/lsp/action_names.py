"""The kinds and commands of code actions, as editors and their settings name them."""

from __future__ import annotations

FIX_KIND = "quickfix"
LINK_KIND = "refactor.rewrite.amem"
EXTRACT_KIND = "refactor.extract"
SOURCE_KIND = "source.amem"
ACTION_KINDS = (FIX_KIND, LINK_KIND, EXTRACT_KIND, SOURCE_KIND)

ACCEPT = "amem.acceptLink"
NEVER = "amem.neverLink"
ORGANISE = "amem.organise"
EXTRACT = "amem.extract"
FIX = "amem.fix"
