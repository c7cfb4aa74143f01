"""Writes a trained adapter as llama.cpp reads it.

    python training/judge_adapter.py TRAINED.npz ADAPTER.gguf

The file names the digest of the base model that it was trained on, so that no other is used.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from gguf import GGUFWriter
from judge_train import SCALE

from amem_cli.models.gguf import sha256_of
from amem_cli.models.llama_cpp import bundled_model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("trained", type=Path)
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    writer = GGUFWriter(options.output, "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    with np.load(options.trained) as trained:
        names = [name for name in trained.files if name.startswith("blk.")]
        rank = trained[names[0]].shape[0]
        writer.add_float32("adapter.lora.alpha", SCALE * rank)
        writer.add_string("amem.base_sha256", sha256_of(bundled_model(), lambda done, size: None))
        for name in names:
            writer.add_tensor(name, np.ascontiguousarray(trained[name], dtype=np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    print(f"{options.output}: {options.output.stat().st_size:,} bytes, rank {rank}")


if __name__ == "__main__":
    main()
