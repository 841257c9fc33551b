"""Feed damaged and hostile files to every reader; each must end in a result or in an error that reweigh raises itself.

    python benchmarks/fuzz.py --minutes 60 --corpus fuzz-corpus

Each target starts from good files. A round takes one from the corpus, changes it at random (bits, spans, numbers, words
that parsers dislike, a piece of another file), and reads it. A file that ends in a new way joins the corpus, where the
next run starts; give each run another --seed. Findings (another error, a hang, too much memory) are written to
CORPUS/findings and end the program with exit code 1; each belongs into FOUND of tests/end_to_end/test_fuzz.py, which
also does a few rounds, always the same ones. Files that reweigh itself seals are changed twice: as they are, where any
change must be noticed, and below a correct checksum, as somebody hostile would.
"""

import argparse
import gzip
import hashlib
import io
import json
import logging
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from PIL import Image

from reweigh import RobustClassifier
from reweigh.data import read
from reweigh.data.labels.label_file import label_values
from reweigh.data.readers import read_unlabeled
from reweigh.errors import ReweighError
from reweigh.files import ledger
from reweigh.files.row_cache import SUFFIX, RowCache
from reweigh.files.tensors import pack, unpack
from reweigh.files.whole import SUMS_NAME as SUMS
from reweigh.files.whole import sums
from reweigh.fit import store
from reweigh.fit.decisions import Decision, Decisions
from reweigh.fit.run_folder import begin, load_model, open_run
from reweigh.recipes.read import check
from reweigh.recipes.read import read as read_recipe
from reweigh.report.page import write_report
from reweigh.runs.correction import read_decided
from reweigh.runs.read import read_account
from reweigh.runs.tables import read_samples
from reweigh.training import Run, checkpoint
from reweigh.training.run import damage, status
from reweigh.weighting import load_weighting, read_released

WORDS = [
    *(b"nan", b"inf", b"-1", b"1e999", b"9223372036854775808", b"1" * 400, b"1_0", b"null", b"true", b"[]"),
    *(b"{}", b'""', b"[" * 2000, b'{"a":' * 500, b"'''", b'"""', b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\x1b[2J"),
    *(b"\r", b"\n", b",", b"=1+1", b"../../x", b"__metadata__", b"os:system", b"0x10", b"\xe2\x80\xae", b";", b"\t"),
    *(b"e", b".", b"<U99999999"),
]  # fmt: skip
SECONDS = 20  # a file that takes longer to read, in time of the processor, is a hang
WAITING = 600  # and so is one that takes so long by the clock
MEMORY = 12e9  # bytes of address space that reading may take


class Target(NamedTuple):
    """A reader.

    Attributes:
        seeds: Good contents.
        suffix: Name of the file that the reader gets.
        read: Reads a file.
        sealed: Whether every change must be refused.
    """

    seeds: list[bytes]
    name: str
    read: Callable[[Path], object]
    sealed: bool = False


class Hang(BaseException):
    """A reader takes too long."""


def mutate(data: bytes, other: bytes, draw: random.Random) -> bytes:
    """The same with one to four random changes."""
    content = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 4))):
        size = len(content)
        at, length = draw.randrange(size + 1), draw.choice((1, 2, 4, 16, 256))
        kind = draw.randrange(9)
        if kind == 0 and size:
            content[draw.randrange(size)] ^= 1 << draw.randrange(8)
        elif kind == 1:
            content[at : at + 1] = draw.randbytes(1)
        elif kind == 2:
            del content[at : at + length]
        elif kind == 3:
            content[at:at] = content[at : at + length] * draw.choice((1, 2, 50))
        elif kind == 4:
            content[at : at + draw.choice((0, 1, 4))] = draw.choice(WORDS)
        elif kind == 5:
            del content[at:]
        elif kind == 6:
            start = draw.randrange(len(other) + 1)
            content[at : at + length] = other[start : start + length]
        elif kind == 7 and (numbers := list(re.finditer(rb"-?\d+(\.\d+)?", content))):
            found = draw.choice(numbers[:200])
            content[found.start() : found.end()] = draw.choice(WORDS[:8])
        else:
            second = draw.randrange(size + 1)
            one, two = bytes(content[at : at + length]), bytes(content[second : second + length])
            content[at : at + length], content[second : second + length] = two, one
    return bytes(content)


@contextmanager
def alarm() -> Iterator[None]:
    """Raise Hang after some seconds."""

    def ring(signum: int, frame: Any) -> None:
        raise Hang

    before = [signal.signal(each, ring) for each in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.alarm(WAITING)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        for each, handler in zip((signal.SIGPROF, signal.SIGALRM), before, strict=True):
            signal.signal(each, handler)


def outcome(target: Target, data: bytes, folder: Path) -> tuple[str, str | None]:
    """How reading ends, in short, and a traceback if it must not end so."""
    path = folder / "cases" / re.sub(r"\W", "-", target.name) / target.name  # apart from the checksums of others
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    try:
        with alarm(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            target.read(path)
    except (ReweighError, OSError) as error:
        return re.sub(r"'[^']*'|[\d.,]+|/\S+", "#", str(error))[:80], None
    except (Exception, Hang) as error:
        return type(error).__name__, traceback.format_exc()
    if target.sealed and data not in target.seeds:
        return "unnoticed", "a change of a sealed file was not noticed"
    return "read", None


def below_seal(name: str, read_file: Callable[[Path], object], path: Path) -> Target:
    """The metadata of a safetensors file, to be changed below a correct checksum."""
    tensors, about = unpack(path.read_bytes(), path)

    def read_sealed(changed: Path) -> object:
        try:
            text = json.loads(changed.read_bytes())
            about = {str(key): str(value) for key, value in text.items()}
            content = pack(tensors, about)
        except Exception:  # not what a file can hold
            return None
        changed.write_bytes(content)
        return read_file(changed)

    return Target([json.dumps(about).encode()], name, read_sealed)


def below_sums(run: Path) -> Target:
    """Decisions, to be changed below correct checksums."""
    records, _ = ledger.read(Run(run).decisions)

    def read_sealed(changed: Path) -> object:
        lines = changed.read_bytes().decode("utf-8", "replace").splitlines()
        changed.unlink()
        for line in lines:
            try:
                ledger.append(changed, json.loads(line))
            except (ValueError, TypeError, RecursionError):  # not what a file can hold
                return None
        return Decisions(changed)

    return Target(["".join(json.dumps(record) + "\n" for record in records).encode()], "d.jsonl", read_sealed)


def with_file(run: Path, name: str, use: Callable[[Path], object]) -> Target:
    """A file of a run, unsealed, in a copy of the run."""
    content = (run / name).read_bytes()

    def read_run(changed: Path) -> object:
        (run / name).write_bytes(changed.read_bytes())
        try:
            return use(run)
        finally:
            (run / name).write_bytes(content)

    return Target([content], name, read_run)


def cached(path: Path) -> object:
    """Rows of a cache, whose only part is that file."""
    rows = RowCache("", 3)
    rows.folder = path.parent
    path.rename(path.with_name(f"{path.stem}{SUFFIX}"))
    return rows.fill(CACHED, torch.zeros(2, 3))


def everything(run: Path) -> None:
    """All that reads a run."""
    damage(Run(run))
    status(Run(run))
    load_model(run)
    read_account(run, "run")


def as_page(run: Path) -> None:
    """The report of a run."""
    write_report([run], run.parent / "page.html")


def json_of(table: pd.DataFrame, lines: bool = False) -> bytes:
    """A table as JSON, or one row per line."""
    return str(table.to_json(orient="records", lines=lines)).encode()


def parquet_of(as_bytes: Callable[[Callable[[Any], object]], bytes], pixels: np.ndarray) -> bytes:
    """Images in Parquet as the Hub stores them."""
    import pyarrow as pa
    from pyarrow import parquet

    photo = as_bytes(lambda file: Image.fromarray(pixels).save(file, "PNG"))
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    images = pa.array([{"bytes": photo, "path": f"{row}.png"} for row in range(6)], kind)
    features = {"image": {"_type": "Image"}, "label": {"names": ["cat", "dog"], "_type": "ClassLabel"}}
    table = pa.table({"image": images, "label": [0, 1] * 3})
    table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    return as_bytes(lambda file: parquet.write_table(table, file, row_group_size=2))


def arrow_of(as_bytes: Callable[[Callable[[Any], object]], bytes], table: pd.DataFrame) -> bytes:
    """A table as the package ``datasets`` stores it: class numbers, and their names beside the schema."""
    import pyarrow as pa

    names = sorted(set(table["kind"]))
    rows = pa.Table.from_pandas(table.assign(kind=table["kind"].map(names.index)), preserve_index=False)
    features = {"kind": {"names": names, "_type": "ClassLabel"}}
    rows = rows.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})

    def write(file: Any) -> None:
        with pa.ipc.new_stream(file, rows.schema) as stream:
            stream.write_table(rows)

    return as_bytes(write)


def make_seeds(folder: Path) -> None:
    """Write good files of every kind: SEEDS/TARGET/NUMBER, and what reweigh itself writes."""
    draw = np.random.default_rng(0)
    features, kinds = draw.normal(size=(40, 3)), np.array(["cat", "dog"])[np.arange(40) % 2]
    table = pd.DataFrame(features, columns=["a", "b", "c"]).assign(
        town=np.where(features[:, 0] > 0, "Ulm", "Bonn"), kind=kinds
    )
    (folder / "data").mkdir()
    table.to_csv(folder / "data" / "table.csv", index=False)
    changes = ["data.name=files", "data.path=table.csv", "data.label=kind", "train.epochs=2"]
    settings = ["model.name=mlp", "model.hidden=[8]", "data.bias=[]", "method.name=cmw-net", "train.abstain=0.2"]
    with chdir(folder):  # no path of this machine in any file
        done = begin(check(read_recipe("demo", [*changes, *settings])), Path("run"))
    for row in range(4):
        Decisions(folder / "run" / "decisions.jsonl").add(Decision(row, kinds[row], "dog", "ann"))
    store.save(folder / "fit", done.fit, {})
    RobustClassifier(epochs=1, method="erm", model="mlp").fit(features, kinds).save(folder / "estimator")

    def as_bytes(write: Callable[[Any], object]) -> bytes:
        buffer = io.BytesIO()
        write(buffer)
        return buffer.getvalue()

    pixels = draw.integers(0, 256, (5, 5, 3), dtype=np.uint8)
    idx = b"\0\0\x08\x03" + b"".join(n.to_bytes(4, "big") for n in (4, 3, 3)) + bytes(range(36))
    arrays = as_bytes(lambda file: np.savez(file, X=features.astype(np.float32), y=kinds))
    packed = as_bytes(lambda file: np.savez_compressed(file, X=np.zeros((40, 3)), y=np.arange(40) % 2))
    release = {
        f"feature.layer.0.{part}": torch.zeros(4, 1)[:, 0 if part == "bias" else slice(None)]
        for part in ("weight", "bias")
    }
    release |= {f"classfier.layers.{n}.0.weight": torch.zeros(1, 4) for n in range(3)}
    release |= {f"classfier.layers.{n}.0.bias": torch.zeros(1) for n in range(3)}
    csv = table.to_csv(index=False).encode()
    first, second, third = (line.split(",")[0] for line in (folder / "run" / "samples.csv").read_text().split()[1:4])
    rows = pack({"digests": torch.tensor([list(name) for name in CACHED], dtype=torch.uint8), "rows": torch.ones(2, 3)},
                {"kind": "reweigh features", "version": "1"})  # fmt: skip
    seeds = {
        "csv": [csv],
        "tsv": [table.to_csv(index=False, sep="\t").encode()],
        "csv.gz": [gzipped(csv)],
        "messy csv": MESSY,
        "json": [json_of(table)],
        "jsonl": [json_of(table, lines=True)],
        "feather": [as_bytes(table.to_feather)],
        "arrow": [arrow_of(as_bytes, table)],
        "xlsx": [as_bytes(lambda file: table.to_excel(file, index=False))],
        "image list": [b"i.png cat\nj.png dog\n" * 3],
        "parquet": [as_bytes(table.to_parquet)],
        "table to predict": [csv],
        "npz": [arrays, packed],
        "npy": [as_bytes(lambda file: np.save(file, kinds))],
        "label file": [b"index,label\n" + b"".join(b"%d,cat\n" % n for n in range(9))],
        "reviewed list": [f"row,decision\n{first},accept\n{second},reject\n{third},dog\n".encode()],
        "idx": [idx, gzipped(idx)],
        "image": [as_bytes(lambda file, kind=kind: Image.fromarray(pixels).save(file, kind)) for kind in IMAGES],
        "parquet images": [parquet_of(as_bytes, pixels)],
        "cached features": [rows],
        "released weighting": [as_bytes(lambda file: torch.save(release, file))],
    }
    for name, contents in seeds.items():
        for number, content in enumerate(contents):
            keep(folder / SEEDS / name, content, f"{number}")


def targets(folder: Path) -> dict[str, Target]:
    """All readers, with the good files of a folder."""
    run, fitted, stored = folder / "run", folder / "fit", folder / "estimator"
    trained = load_model(run)
    samples, names = read_samples(run / "samples.csv", trained.class_names), trained.class_names
    assert samples is not None

    def of(name: str, called: str, read_file: Callable[[Path], object], sealed: bool = False) -> Target:
        return Target(
            [file.read_bytes() for file in sorted((folder / SEEDS / name).iterdir())], called, read_file, sealed
        )

    def read_table(path: Path) -> object:
        return read(path, label="kind")

    def read_idx(path: Path) -> object:
        path.with_name("train-labels-idx1-ubyte").write_bytes(b"\0\0\x08\x01\0\0\0\x04\0\1\0\1")
        return read(path)

    def read_list(path: Path) -> object:
        for name in ("i.png", "j.png"):
            path.with_name(name).write_bytes((folder / SEEDS / "image" / "0").read_bytes())
        return read(path)

    def to_predict(path: Path) -> object:
        return read_unlabeled(path, trained.inputs.shape, encoding=trained.inputs.encoding, raw_bytes=False)

    def one(path: Path, called: str, read_file: Callable[[Path], object]) -> Target:
        return Target([path.read_bytes()], called, read_file, sealed=True)

    last, learned = run / "checkpoint" / "last.safetensors", run / "weighting.safetensors"
    return {
        "recipe": Target([(run / "recipe.toml").read_bytes()], "r.toml", lambda path: check(read_recipe(path))),
        **{
            name: of(name, f"t.{name}", read_table)
            for name in ("csv", "tsv", "csv.gz", "json", "jsonl", "feather", "arrow", "xlsx", "parquet")
        },
        "messy csv": of(
            "messy csv", "t.csv", lambda path: read(path, label="kind", drop_unlabeled=True, join_labels=True)
        ),
        "image list": of("image list", "l.txt", read_list),
        "table to predict": of("table to predict", "p.csv", to_predict),
        "npz": of("npz", "a.npz", read),
        "npy": of("npy", "l.npy", label_values),
        "label file": of("label file", "l.csv", label_values),
        "reviewed list": of("reviewed list", "l.csv", lambda path: read_decided(path, samples, names)),
        "idx": of("idx", "train-images-idx3-ubyte", read_idx),
        "image": of("image", "i.png", lambda path: read_unlabeled(path, (3, 5, 5), encoding=None, raw_bytes=True)),
        "parquet images": of("parquet images", "train.parquet", read),
        "cached features": of("cached features", "rows", cached),
        "released weighting": of(
            "released weighting", "r.pth", lambda file: read_released(file, ("large", "small", "medium"))
        ),
        "checkpoint": one(last, "c", checkpoint.load),
        "weighting": one(learned, "w.safetensors", load_weighting),
        "classifier": one(fitted, "f", store.load),
        "checksums": one(run / SUMS, SUMS, lambda path: sums(path.parent)),
        "decisions": Target([(run / "decisions.jsonl").read_bytes()], "d.jsonl", Decisions),
        "hostile decisions": below_sums(run),
        "hostile checkpoint": below_seal("c", checkpoint.load, last),
        "hostile weighting": below_seal("w", load_weighting, learned),
        "hostile classifier": below_seal("f", store.load, fitted),
        "hostile estimator": below_seal("e", RobustClassifier.load, stored),
        **{f"run: {name}": with_file(unsealed(run), name, everything) for name in IN_A_RUN},
        **{f"page: {name}": with_file(unsealed(run), name, as_page) for name in IN_A_RUN},
        "run: recipe": with_file(unsealed(run), "recipe.toml", open_run),
    }


SEEDS = "seeds"
CACHED = [bytes([number] * 16) for number in range(2)]
IMAGES = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM")
MESSY_LINES = "sep=;\nkind;price;since;share;ok\n" + "".join(
    f"{('cat', 'Dog ')[row % 2]};€ {row * 997 % 5000},{row:02};{1 + row % 28:02}.05.2024;{row} %;{'?yn'[row % 3]}\n"
    for row in range(40)
)
MESSY = [MESSY_LINES.encode(name) for name in ("utf-8-sig", "cp1252", "utf-16")]
IN_A_RUN = (
    "summary.json",
    "classes.json",
    "inputs.json",
    "metrics.jsonl",
    "samples.csv",
    "test.csv",
    "abstain.csv",
    "decisions.jsonl",
)


def gzipped(data: bytes) -> bytes:
    """The same bytes every time."""
    return gzip.compress(data, mtime=0)


def unsealed(run: Path) -> Path:
    """A copy of a run without checksums, made once."""
    copy = run.with_name("unsealed")
    if not copy.exists():
        shutil.copytree(run, copy)
        (copy / SUMS).unlink()
    return copy


def fuzz(
    found: dict[str, Target], folder: Path, seed: int, until: Callable[[int], bool], corpus: Path | None = None
) -> tuple[Counter[str], dict[str, str]]:
    """Go over all targets until it is time to stop; the number of files read by target, and the findings.

    What a round reads depends on the seed, the target, the number of the round and the corpus alone.
    """
    rounds, findings, number = Counter[str](), dict[str, str](), 0
    pools = {name: list(target.seeds) for name, target in found.items()}
    ends: dict[str, set[str]] = {name: set() for name in found}
    for file in sorted(corpus.glob("*/*")) if corpus is not None else ():
        if file.parent.name in pools:
            pools[file.parent.name].append(file.read_bytes())
    while not until(number):
        for name, target in found.items():
            draw = random.Random(f"{seed} {name} {number}")
            data = mutate(draw.choice(pools[name]), draw.choice(pools[name]), draw)
            end, trouble = outcome(target, data, folder)
            rounds[name] += 1
            if end not in ends[name] and corpus is not None:
                ends[name].add(end)
                pools[name].append(data)
                keep(corpus / name, data)
            if trouble is not None and f"{name}: {end}" not in findings:
                findings[f"{name}: {end}"] = f"{trouble}\n{data[:2000]!r}"
                if corpus is not None:
                    keep(corpus / "findings" / name, data)
        number += 1
    return rounds, findings


def keep(folder: Path, data: bytes, name: str = "") -> None:
    """Store a file under a name, or its checksum."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / (name or hashlib.sha256(data).hexdigest()[:16])).write_bytes(data)


def write_archive(path: Path, folder: Path) -> None:
    """Store the good files for the test, which must read the same bytes every time."""
    make_seeds(folder)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(file for file in folder.rglob("*") if file.is_file()):
            archive.writestr(zipfile.ZipInfo(str(file.relative_to(folder))), file.read_bytes(), zipfile.ZIP_DEFLATED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--corpus", type=Path, default=Path("fuzz-corpus"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="names of targets, separated by commas; all by default")
    parser.add_argument("--write-seeds", type=Path, metavar="ZIP", help="only write the good files, for the test")
    given = parser.parse_args()
    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_AS, (int(MEMORY), int(MEMORY)))
    logging.disable()
    end = time.monotonic() + 60 * given.minutes
    with tempfile.TemporaryDirectory() as scratch:
        if given.write_seeds:
            write_archive(given.write_seeds, Path(scratch))
            return
        make_seeds(Path(scratch))
        chosen = targets(Path(scratch))
        if given.only:
            chosen = {name: chosen[name] for name in given.only.split(",")}
        rounds, findings = fuzz(chosen, Path(scratch), given.seed, lambda number: time.monotonic() > end, given.corpus)
    for name, count in rounds.items():
        print(f"{name:22} {count:8,} files")
    print(f"{sum(rounds.values()):,} files, {len(findings)} findings")
    for name, trouble in findings.items():
        print(f"\n--- {name}\n{trouble}")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
