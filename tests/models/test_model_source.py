"""What a person means by a model to fetch."""

from __future__ import annotations

import pytest

from amem_cli.errors import NotFoundError, UsageError
from amem_cli.models.sources import (
    HubFile,
    HubModel,
    checked_sha256,
    chosen_file,
    file_name_of,
    kept_name,
    recommended,
    recommended_models,
    source_of,
)

FILES = [
    HubFile("README.md"),
    HubFile("mmproj-F16.gguf"),
    HubFile("Model-Q4_K_M.gguf", 4),
    HubFile("Model-Q4_K_S.gguf", 3),
    HubFile("Model-Q8_0.gguf", 8),
    HubFile("big/Model-F16-00001-of-00002.gguf", 9),
    HubFile("big/Model-F16-00002-of-00002.gguf", 9),
]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("owner/name", HubModel("owner/name")),
        ("owner/name:Q4_K_M", HubModel("owner/name", "Q4_K_M")),
        ("hf.co/owner/name:a-b.gguf", HubModel("owner/name", "a-b.gguf")),
        ("https://x.org/a.gguf", "https://x.org/a.gguf"),
        (
            "https://huggingface.co/o/n/blob/main/a.gguf",
            "https://huggingface.co/o/n/resolve/main/a.gguf",
        ),
        ("just-a-name", None),
        ("/some/path", None),
        ("a/b/c", None),
        ("../../etc/x", None),
        ("owner/name:../x y", None),
    ],
)
def test_a_source_is_read(text: str, meant: object) -> None:
    assert source_of(text) == meant


@pytest.mark.parametrize(
    "text", ["o/n:model.bin", "https://x.org/a.pt?x=1", "o/n:x.safetensors", "a.pkl"]
)
def test_formats_that_run_code_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not loaded"):
        source_of(text)


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("", "Model-Q4_K_M.gguf"),
        ("q8_0", "Model-Q8_0.gguf"),
        ("Q4_K_S", "Model-Q4_K_S.gguf"),
        ("model-q8_0.GGUF", "Model-Q8_0.gguf"),
        ("*Q8*", "Model-Q8_0.gguf"),
    ],
)
def test_one_file_is_chosen(pattern: str, name: str) -> None:
    assert chosen_file("o/n", pattern, FILES).name == name


@pytest.mark.parametrize("pattern", ["Q5_K_M", "*Q4*", "4_K_M", "mmproj*"])
def test_none_or_many_are_told_with_their_names(pattern: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        chosen_file("o/n", pattern, FILES)
    assert "Model-Q4_K_M.gguf" in caught.value.hint


def test_parts_and_repositories_without_models_are_refused() -> None:
    with pytest.raises(UsageError, match="several"):
        chosen_file("o/n", "Model-F16-00001-of-00002.gguf", FILES)
    with pytest.raises(NotFoundError, match=r"no \.gguf"):
        chosen_file("o/n", "", FILES[:2])
    assert chosen_file("o/n", "", [FILES[4]]).name == "Model-Q8_0.gguf"


def test_names_are_made_safe() -> None:
    assert kept_name("../../a b:c.gguf") == "a-b-c.gguf"
    assert kept_name("C:\\x\\m.GGUF") == "m.gguf"
    assert file_name_of("https://x.org/d/a%20b.gguf?sig=1") == "a-b.gguf"
    for name in ("", ".gguf", "x.txt", "...gguf"):
        with pytest.raises(UsageError):
            kept_name(name)


def test_a_digest_is_64_hexadecimal_digits() -> None:
    assert checked_sha256("A" * 64) == "a" * 64
    assert checked_sha256("") == ""
    for text in ("a" * 63, "g" * 64, "sha256:" + "a" * 64):
        with pytest.raises(UsageError):
            checked_sha256(text)


def test_the_recommended_models_name_a_file_of_a_repository() -> None:
    for one in recommended_models():
        assert recommended(one.name.upper()) == one
        assert source_of(f"{one.repository}:{one.file}") == HubModel(one.repository, one.file)
        assert one.memory > one.size
    assert recommended("unknown") is None
