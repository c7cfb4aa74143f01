"""What do steps around the graph of another program's file cost, with and without the package onnx?

    python benchmarks/onnx_file.py [--megabytes 90,1100]

The graph has its weights in itself, as those of the hub. Each way runs in a process of its own:
seconds to read the file, add a step and write it again, and the most memory that the process had,
pages of the mapped file included.
"""

from __future__ import annotations

import argparse
import mmap
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

WEIGHTS = 10


def make_graph(path: Path, megabytes: int) -> None:
    """Write a graph with weights of this size."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    numbers = np.zeros(megabytes * 10**6 // 4 // WEIGHTS, dtype=np.float32)
    weights = [numpy_helper.from_array(numbers, f"w{number}") for number in range(WEIGHTS)]
    ends = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [None]) for name in ("x", "y"))
    given, wanted = ends
    step = helper.make_node("Add", ["x", "w0"], ["y"])
    graph = helper.make_graph([step], "g", [given], [wanted], weights)
    path.write_bytes(onnx.helper.make_model(graph).SerializeToString())


def with_own_code(source: Path, out: Path) -> None:
    """Extend the graph as amem does."""
    from amem_cli.models.onnx_file import ForeignGraph, GraphWriter

    with source.open("rb") as stream:
        content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        graph = ForeignGraph.read(memoryview(content))
        after = GraphWriter()
        after.step("Identity", ["y"], output="vectors")
        graph.write_extended(out, before=GraphWriter(), after=after, inputs=["x"])


def with_the_package(source: Path, out: Path) -> None:
    """Extend the graph with onnx."""
    import onnx

    model = onnx.load_model(source)
    model.graph.node.append(onnx.helper.make_node("Identity", ["y"], ["vectors"]))
    model.graph.output[0].name = "vectors"
    onnx.save_model(model, out)


WAYS = {"onnx_file": with_own_code, "onnx": with_the_package}


def main() -> None:
    """Print a row for each size and way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", default="90,1100")
    parser.add_argument("--way", choices=WAYS)
    parser.add_argument("--make", type=int)
    parser.add_argument("--graph", type=Path)
    given = parser.parse_args()
    if given.make:
        make_graph(given.graph, given.make)
        return
    if given.way:
        started = time.monotonic()
        WAYS[given.way](given.graph, given.graph.with_suffix(".out"))
        seconds = time.monotonic() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
        print(f"{seconds:.2f} s, {peak:,.0f} MB")
        return
    print(f"| graph, MB | {' | '.join(WAYS)} |\n|---|---|---|")
    for size in map(int, given.megabytes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            graph = Path(folder) / "graph.onnx"
            command = [sys.executable, __file__, "--graph", str(graph)]
            # A process is charged with the memory of the one that started it.
            subprocess.run([*command, "--make", str(size)], check=True)
            took = [
                subprocess.check_output([*command, "--way", way], text=True).strip() for way in WAYS
            ]
        print(f"| {size:,} | {' | '.join(took)} |", flush=True)


if __name__ == "__main__":
    main()
