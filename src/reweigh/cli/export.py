"""``reweigh export``: the trained model as a file for other programs."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from reweigh.cli.arguments import ClassShares, Overwrite, RunFolder, TrustCode, check_ending, check_target
from reweigh.cli.printing import echo
from reweigh.names import listed


class Format(StrEnum):
    """Formats that can be written."""

    onnx = "onnx"
    safetensors = "safetensors"


def export(
    run: RunFolder,
    to: Annotated[Format, typer.Option(help="Format of the file.")],
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="File to write. Default: RUN.FORMAT.")] = None,
    class_shares: ClassShares = None,
    overwrite: Overwrite = False,
    trust_code: TrustCode = False,
) -> None:
    """Export the trained model to ONNX or safetensors.

    An ONNX file holds the whole model, including normalization; a safetensors file holds the weights. The metadata of
    both contain the class names, shape and scale of the inputs, and the encoding of the columns of a table.
    """
    file = out or Path(f"{run.resolve().name}.{to}")
    check_ending("--out", file, (f".{to}",), f"a model as {to}")
    check_target("--out", file, [file], [run / "model.safetensors"], overwrite)

    from reweigh.features import TextNetwork
    from reweigh.files import write_whole
    from reweigh.fit.export import about, to_onnx, to_safetensors, whole
    from reweigh.fit.run_folder import load_model

    trained = load_model(run, trust_code).meeting(class_shares)
    write_whole(file, to_onnx(trained) if to is Format.onnx else to_safetensors(trained))
    shape = ", ".join(map(str, whole(trained)[1]))
    echo(f"Model: {file} ({file.stat().st_size / 1e6:.1f} MB), {len(trained.class_names)} classes")
    if to is Format.onnx:
        scale = "bytes divided by 255" if trained.inputs.bytes else "raw numbers"
        scale = "features as encoded from the table" if trained.inputs.encoding else scale
        echo(f"  inputs: float32 (n, {shape}), {scale}; normalization and class shares are included")
        if trained.inputs.encoding is not None:
            echo("  encode the columns of a table first, as the metadata describe:")
            echo("  reweigh.data.tables.encoding.Encoding.from_json(metadata['encoding']).apply(table)")
        network = None if trained.front is None else trained.front.network
        if isinstance(network, TextNetwork):
            assert trained.inputs.encoding is not None
            others, texts = trained.inputs.shape[0], listed(map(repr, trained.inputs.encoding.texts))
            echo("  the network for text is not included either; compute its features first:")
            echo(f"  {others} of the other columns first, then {network.width} for each of {texts} by {network.name};")
            echo('  for a missing text use the mean ("mean" in the metadata)')
        elif network is not None and network.size is not None:
            side, then = ("short", "crop the middle") if network.resize == "crop" else ("long", "pad with gray")
            echo(f"  resize images first: {side} side to {network.size}, {then}")
        echo("  logits: float32 (n, classes); softmax turns them into probabilities")
    echo(f"  metadata: {', '.join(about(trained))}")
