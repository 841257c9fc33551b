"""``reweigh tables``: the list, one table, its commands, and a number from a finished run."""

import json
import shutil


def test_the_list(run):
    result = run("tables")
    assert result.exit_code == 0, result.output
    assert "Feature-dependent noise" in result.stdout
    assert "cifar10-long-tail (200 epochs, resnet32)" in result.stdout


def test_a_command_for_each_cell_that_can_be_made(run, tmp_path):
    result = run("tables", "1", "--commands", "--runs", tmp_path)
    lines = result.stdout.splitlines()
    assert len(lines) == 12 * 12
    assert lines[1] == (
        "reweigh train cifar10-long-tail data.bias.0.imbalance_factor=100 method.name=erm "
        f"--out {tmp_path / '1' / 'erm-cifar-10-factor-100'}"
    )


def test_a_finished_run_stands_beside_the_number_of_the_paper(own, run, tmp_path):
    shutil.copytree(own / "table-run", tmp_path / "1" / "erm-cifar-10-factor-100")
    last = json.loads((own / "table-run" / "metrics.jsonl").read_text().splitlines()[-1])
    result = run("tables", "1", "--runs", tmp_path)
    assert f"29.64 / {100 - 100 * last['test_accuracy']:.1f}" in result.stdout
    assert "27.63" in result.stdout
    assert result.stdout.count(" / ") == 1 + result.stdout.count("paper / here")
    assert all(name in result.stdout for name in ("CMW-Net with LDAM loss", "CIFAR-100, factor 200"))


def test_an_unknown_table(run):
    result = run("tables", "eleven")
    assert result.exit_code == 2
    assert "no table 'eleven'; there are: 1, 2" in result.output


def test_cells_of_one_run_are_listed_once(run, tmp_path):
    lines = run("tables", "9", "--commands", "--runs", tmp_path).stdout.splitlines()
    assert len(lines) == len(set(lines)) == 4


def test_several_numbers_of_one_run(own, run, tmp_path):
    shutil.copytree(own / "table-run", tmp_path / "9" / "erm")
    last = json.loads((own / "table-run" / "metrics.jsonl").read_text().splitlines()[-1])
    shown = run("tables", "9", "--runs", tmp_path).stdout
    assert f"20.9 / {100 * last['test_accuracy']:.1f}" in shown
    assert "40.9 / -" in shown or "test_many_shot_accuracy" in last


def test_the_average_of_a_row_once_all_of_its_runs_are_finished(own, run, tmp_path):
    last = json.loads((own / "table-run" / "metrics.jsonl").read_text().splitlines()[-1])
    for name in ("web-bird", "web-aircraft", "web-car"):
        shown = run("tables", "8", "--runs", tmp_path).stdout
        assert "66.1 " in shown
        assert "66.1 / " not in shown
        shutil.copytree(own / "table-run", tmp_path / "8" / f"erm-{name}")
    assert f"66.1 / {100 * last['test_accuracy']:.1f}" in run("tables", "8", "--runs", tmp_path).stdout


def trained(own, folder, accuracy, *changes):
    """A finished run with that accuracy, and some words of its recipe changed."""
    shutil.copytree(own / "table-run", folder, ignore=shutil.ignore_patterns("SHA256SUMS"))
    *lines, last = (folder / "metrics.jsonl").read_text().splitlines()
    line = json.dumps({**json.loads(last), "test_accuracy": accuracy})
    (folder / "metrics.jsonl").write_text("\n".join([*lines, line]) + "\n")
    recipe = folder / "recipe.toml"
    for before, after in changes:
        assert before in recipe.read_text()
        recipe.write_text(recipe.read_text().replace(before, after))


def test_methods_that_begin_alike_branch_from_plain_training(run, tmp_path):
    lines = run("tables", "1", "--commands", "--runs", tmp_path, "--seeds", 2).stdout.splitlines()
    assert len(lines) == 2 * 12 * 12
    stem = tmp_path / "1" / "erm-cifar-10-factor-200"
    words = "data.bias.0.imbalance_factor=200 method.name=cmw-net"
    out = tmp_path / "1" / "cmw-net-with-ce-loss-cifar-10-factor-200"
    assert f"reweigh train cifar10-long-tail {words} --branch {stem} --out {out}" in lines
    assert f"reweigh train cifar10-long-tail {words} train.seed=1 --branch {stem}-seed1 --out {out}-seed1" in lines
    branching = {line.partition("method.name=")[2].split()[0] for line in lines if "--branch" in line}
    assert branching == {"mw-net", "cmw-net", "l2rw", "mcw"}
    assert not any("--branch" in line for line in lines if "ldam" in line or "cosine" in line)


def test_seeds_are_averaged_and_compared_with_the_spread_of_the_paper(own, run, tmp_path):
    for seed, accuracy in (("", 0.80), ("-seed1", 0.82), ("-seed2", 0.81)):
        trained(own, tmp_path / "6" / f"erm-test{seed}", accuracy)  # paper: 79.4 +- 0.14
    trained(own, tmp_path / "6" / "plc-test", 0.60)
    shown = " ".join(run("tables", "6", "--runs", tmp_path, "--seeds", 3).stdout.split())
    assert "79.4 ± 0.14 / 81.0 ± 1.0 †" in shown  # t = 2.7 with two degrees of freedom: chance
    assert "83.4 ± 0.43 / 60.0 (1 of 3) †" in shown
    assert "† was trained with other settings than the cell: " in shown
    shutil.rmtree(tmp_path)
    for seed, accuracy in (("", 0.810), ("-seed1", 0.811), ("-seed2", 0.812)):
        trained(own, tmp_path / "6" / f"erm-test{seed}", accuracy)
    assert "79.4 ± 0.14 / 81.1 ± 0.1 * †" in run("tables", "6", "--runs", tmp_path, "--seeds", 3).stdout


def test_runs_with_different_settings_are_never_averaged(own, run, tmp_path):
    trained(own, tmp_path / "6" / "erm-test", 0.80)
    trained(own, tmp_path / "6" / "erm-test-seed1", 0.82, ("batch_size = ", "batch_size = 1"))
    result = run("tables", "6", "--runs", tmp_path, "--seeds", 2)
    assert result.exit_code == 2
    assert "erm-test-seed1 differ in train.batch_size, so they are not averaged" in result.stderr
