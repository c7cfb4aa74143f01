"""What every encoder must do, whatever stands behind it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pytest

from amem_cli.models.ports import Encoder

if TYPE_CHECKING:
    from amem_cli.models.ports import Vectors

BREAD = "the sourdough bread rose slowly in the warm kitchen"
BREAD_AGAIN = "sourdough bread in a warm kitchen rose slowly"
TAXES = "quarterly invoices must reach our accountant before friday"
TEXTS = (
    BREAD,
    "",
    TAXES,
    "bread",
    "日本語のメモ",
    "Ärger mit “Zitaten” 🙂👩‍👩‍👧",
    "line one\n\n\tline two  ",
    BREAD,
    "lone \ud800 surrogate and \x00 nul",
    f"{TAXES} {BREAD} " * 40,
)


def nearness(tokens: Vectors, signs: bytes) -> float:
    """The mean of each token's greatest product with the signs of any one of a passage."""
    dimension = tokens.shape[1]
    rows = np.frombuffer(signs, np.uint8).reshape(-1, -(-dimension // 8))
    bits = np.unpackbits(rows, axis=1, count=dimension).astype(np.float32)
    return float((tokens @ (2 * bits - 1).T).max(axis=1).mean())


class EncoderContract:
    """Subclass it, give it a fixture `encoder`, and name the subclass `Test…`.

    `least_cosine`: of a question's vector with that of the same text, less where the encoder
    learned to read questions.
    """

    least_cosine = 0.9999

    @pytest.fixture
    def encoder(self) -> Encoder:
        raise NotImplementedError

    def test_it_says_what_it_is(self, encoder: Encoder) -> None:
        assert encoder.model_id
        assert encoder.model_id == encoder.model_id.strip()
        assert encoder.dimension > 0
        assert encoder.max_tokens > 0

    def test_each_text_has_a_unit_vector(self, encoder: Encoder) -> None:
        vectors = encoder.encode(TEXTS)
        assert vectors.shape == (len(TEXTS), encoder.dimension)
        assert vectors.dtype == np.float32
        assert np.isfinite(vectors).all()
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)

    def test_no_texts_give_no_vectors(self, encoder: Encoder) -> None:
        assert encoder.encode([]).shape == (0, encoder.dimension)

    def test_a_vector_depends_on_its_text_alone(self, encoder: Encoder) -> None:
        together = encoder.encode(TEXTS)
        backwards = encoder.encode(TEXTS[::-1])[::-1]
        alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
        np.testing.assert_allclose(together, backwards, atol=1e-4)
        np.testing.assert_allclose(together, alone, atol=1e-4)

    def test_texts_that_are_alike_are_near(self, encoder: Encoder) -> None:
        bread, again, taxes = encoder.encode([BREAD, BREAD_AGAIN, TAXES])
        assert bread @ again > bread @ taxes + 0.2

    def test_what_is_too_long_is_cut(self, encoder: Encoder) -> None:
        full = "bread " * encoder.max_tokens
        first, second = encoder.encode([full, f"{full} {TAXES}"])
        np.testing.assert_allclose(first, second, atol=1e-4)

    def test_many_texts_keep_their_order(self, encoder: Encoder) -> None:
        words = BREAD.split()
        texts = [" ".join(words[: 1 + number % len(words)]) for number in range(300)]
        vectors = encoder.encode(texts)
        np.testing.assert_allclose(vectors[: len(words)], vectors[9 : 9 + len(words)], atol=1e-4)
        np.testing.assert_allclose(vectors[250:251], encoder.encode(texts[250:251]), atol=1e-4)

    def test_passages_have_the_same_vectors_with_their_tokens(self, encoder: Encoder) -> None:
        vectors, signs = encoder.encode_passages(TEXTS)
        np.testing.assert_allclose(vectors, encoder.encode(TEXTS), atol=1e-4)
        width = -(-encoder.dimension // 8)
        assert [len(each) % width for each in signs] == [0] * len(TEXTS)
        assert signs[0] == signs[7]
        assert all(len(each) <= width * encoder.max_tokens for each in signs)

    def test_a_question_has_the_same_vector_with_its_tokens(self, encoder: Encoder) -> None:
        for text in TEXTS:
            (expected,) = encoder.encode([text], query=True)
            vector, tokens = encoder.encode_question(text)
            assert vector @ expected > self.least_cosine
            np.testing.assert_allclose(np.linalg.norm(vector), 1, atol=1e-4)
            plain, _ = encoder.encode_question(text, plain=True)
            np.testing.assert_allclose(plain, expected, atol=1e-4)
            assert tokens.shape[1] == encoder.dimension
            np.testing.assert_allclose(np.linalg.norm(tokens, axis=1), 1, atol=1e-4)

    def test_tokens_are_near_to_the_same_ones_in_a_passage(self, encoder: Encoder) -> None:
        _, tokens = encoder.encode_question(BREAD_AGAIN)
        _, (signs, others) = encoder.encode_passages([BREAD, TAXES])
        if signs:
            assert nearness(tokens, signs) > nearness(tokens, others)

    def test_texts_are_read_together_with_a_question_if_that_was_learned(
        self, encoder: Encoder
    ) -> None:
        odds = encoder.relevance("What rose in the kitchen?", TEXTS)
        assert odds.shape in ((0,), (len(TEXTS),))
        assert np.isfinite(odds).all()
        backwards = encoder.relevance("What rose in the kitchen?", TEXTS[::-1])
        np.testing.assert_allclose(odds, backwards[::-1], atol=1e-4)
        assert encoder.relevance("", []).shape == (0,)

    def test_two_threads_may_encode_at_a_time(self, encoder: Encoder) -> None:
        expected = encoder.encode(TEXTS)
        with ThreadPoolExecutor(2) as threads:
            for vectors in threads.map(encoder.encode, [TEXTS] * 4):
                np.testing.assert_allclose(vectors, expected, atol=1e-4)
