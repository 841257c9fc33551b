"""The paper's tables: every cell is a recipe that passes its check, and numbers are those of the paper's text."""

import tomllib
from math import isnan
from pathlib import Path

import pytest

from reweigh.errors import RecipeError
from reweigh.methods import METHODS, options_of_method
from reweigh.recipes import published
from reweigh.recipes.published import names, table
from reweigh.recipes.read import check, read


def test_all_tables_are_there():
    assert {*map(str, range(1, 11)), "open-set", "partial", "semi", "selective", "families"} <= set(names())
    assert names()[:10] == [*map(str, range(1, 11))]


@pytest.mark.parametrize("name", names())
def test_every_cell_is_a_recipe(name):
    shown = table(name)
    plans = set()
    for row, cells in shown.rows.items():
        assert [cell.column for cell in cells] == list(shown.columns)
        for cell in cells:
            if not cell.method:
                continue
            assert cell.method in METHODS
            plan = check(read(cell.recipe, [*cell.changes, f"method.name={cell.method}"]))
            plans.add((row, cell.metric, str(plan)))
            assert plan.method.name == cell.method
    assert len(plans) == sum(len(cells) for cells in shown.rows.values() if cells[0].method), "two cells are the same"


def default_of(method, option):
    """What a signature says; None stands for an option that the method does not have."""
    parameter = options_of_method(METHODS[method]).get(option)
    return None if parameter is None else (parameter.default,)


@pytest.mark.parametrize("name", names())
def test_no_cell_has_an_option_that_neither_it_nor_its_method_asked_for(name):
    leaked = set()
    for cell in (cell for cells in table(name).rows.values() for cell in cells if cell.method):
        typed = {change.partition("=")[0] for change in cell.changes}
        recipe = read(cell.recipe).values["method"]["name"]
        plan = check(read(cell.recipe, [*cell.changes, f"method.name={cell.method}"]))
        for option, value in plan.method.options.items():
            own = default_of(cell.method, option)
            if own != (value,) and f"method.{option}" not in typed and own != default_of(recipe, option):
                leaked.add(f"{cell.recipe} -> {cell.method}: {option}={value}, its own {own}")
    assert leaked == set()


PLAIN = ("mw-net", "cmw-net")


@pytest.mark.parametrize("name", [each for each in names() if each not in ("1", "families", "efficient", "meta-sets")])
def test_plain_methods_weigh_as_the_released_plain_scripts_do(name):
    """By the mean over the batch, and trusted samples chosen by the network itself; Table 1 divides by the sum."""
    for cell in (cell for cells in table(name).rows.values() for cell in cells if cell.method in PLAIN):
        plan = check(read(cell.recipe, [*cell.changes, f"method.name={cell.method}"]))
        assert (plan.method.options["normalize"], plan.meta_set.options["judge"]) == ("mean", "model"), cell


@pytest.mark.parametrize(
    ("name", "row", "column", "number"),
    [  # read in the paper by hand
        ("1", "CMW-Net with CE loss", "CIFAR-100, factor 200", 60.85),
        ("1", "SADE", "CIFAR-10, factor 1", 7.72),
        ("2", "CMW-Net-SL", "CIFAR-10, asymmetric 0.8", 93.07),
        ("3", "C2D", "CIFAR-100, symmetric 0.9", 58.5),
        ("4", "PLC", "CIFAR-10, type III, 35 %", 81.50),
        ("5", "CMW-Net-SL", "CIFAR-100, type I + asymmetric", 61.35),
        ("6", "SELFIE", "test", 81.8),
        ("8", "CMW-Net", "Web-car", 77.42),
        ("9", "OLTR + CMW-Net", "overall", 39.5),
        ("10", "ERM + CMW-Net-SL", "ILSVRC12 top 5", 88.5),
        ("7", "ELR", "ILSVRC12 top 1", 70.29),
        ("9", "OLTR", "few", 18.5),
        ("selective", "80 %: SelectiveNet", "CIFAR-100, factor 100", 59.85),
        ("partial-cifar100", "PRODEN + CMW-Net", "q = 0.07", 59.17),
    ],
)
def test_numbers_of_the_paper(name, row, column, number):
    (cell,) = [cell for cell in table(name).rows[row] if cell.column == column]
    assert cell.paper == number


def test_numbers_that_the_paper_lacks():
    ldam = {cell.column: cell.paper for cell in table("1").rows["LDAM loss"]}
    assert isnan(ldam["CIFAR-10, factor 200"])
    assert ldam["CIFAR-10, factor 100"] == 26.65


def test_settings_of_a_cell():
    sl = {cell.column: cell.changes for cell in table("2").rows["CMW-Net-SL"]}
    assert "method.mixup=4.0" in sl["CIFAR-100, asymmetric 0.6"]
    assert "method.average_until=0.5" in sl["CIFAR-100, asymmetric 0.6"]
    assert not any("mixup" in change for change in sl["CIFAR-10, asymmetric 0.6"])
    for name in names():
        text = tomllib.loads((Path(published.__file__).parent / f"{name}.toml").read_text())
        axes = {value["name"] for axis in text["axis"] for value in axis["values"]}
        for row in text["row"]:
            assert row.get("at", {}).keys() <= axes | set(table(name).columns), row["name"]


def test_averages_are_those_of_the_rows():
    shown = table("8")
    assert shown.averages.keys() == shown.rows.keys()
    for row, average in shown.averages.items():
        assert average == pytest.approx(sum(cell.paper for cell in shown.rows[row]) / 3, abs=0.011)
    assert not table("1").averages


def test_an_unknown_table():
    with pytest.raises(RecipeError, match="no table '11'; there are: 1, 2, "):
        table("11")


def test_columns_of_one_run_share_its_folder_and_its_command():
    cells = table("9").rows["ERM"]
    assert {cell.run for cell in cells} == {"erm"}
    assert [cell.metric for cell in cells] == [
        f"test_{kind}accuracy" for kind in ("many_shot_", "medium_shot_", "few_shot_", "")
    ]
    assert len({cell.run for row in table("selective").rows.values() for cell in row}) == 14 * 12


@pytest.mark.parametrize(
    ("name", "row", "column", "spread"),
    [  # read in the paper by hand
        ("2", "CMW-Net-SL", "CIFAR-10, asymmetric 0.4", 0.52),
        ("2", "GCE", "CIFAR-100, asymmetric 0.2", 0.44),
        ("4", "ERM", "CIFAR-100, type III, 70 %", 0.18),
        ("5", "CMW-Net-SL", "CIFAR-100, type I + asymmetric", 0.52),
        ("6", "SELFIE", "test", 0.09),
        ("semi", "MixMatch", "CIFAR-10, 40", 11.5),
        ("selective", "80 %: SelectiveNet", "CIFAR-10, factor 200", 0.76),
    ],
)
def test_spreads_are_those_of_the_paper(name, row, column, spread):
    (cell,) = (cell for cell in table(name).rows[row] if cell.column == column)
    assert cell.spread == spread
    assert isnan(table("1").rows["ERM"][0].spread)
