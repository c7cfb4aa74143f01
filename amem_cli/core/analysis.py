"""The offline analyzer: tags, context, links and evolution of a note without a language model."""

from __future__ import annotations

from amem_cli.core.context_sentence import LONGEST_CONTEXT, context_sentence
from amem_cli.core.evolution_rules import superseded
from amem_cli.core.general_tags import general_names, general_tag_evidence
from amem_cli.core.keyphrases import candidate_phrases, extract_keywords
from amem_cli.core.link_choice import USUAL_MINIMUM, link_suggestions
from amem_cli.core.link_evidence import LinkCandidate
from amem_cli.core.tag_choice import TaggedNeighbour, TagUse, keyword_tag, suggest_tags

__all__ = [
    "LONGEST_CONTEXT",
    "USUAL_MINIMUM",
    "LinkCandidate",
    "TagUse",
    "TaggedNeighbour",
    "candidate_phrases",
    "context_sentence",
    "extract_keywords",
    "general_names",
    "general_tag_evidence",
    "keyword_tag",
    "link_suggestions",
    "suggest_tags",
    "superseded",
]
