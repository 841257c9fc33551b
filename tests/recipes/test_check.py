"""A recipe is checked as a whole: what is right is complete, what is wrong is all in one message."""

import pytest

from reweigh.errors import RecipeError
from reweigh.recipes.read import check, for_bias, for_method, read

pytestmark = pytest.mark.usefixtures("fake_tables")


def mistakes(path, *overrides):
    with pytest.raises(RecipeError) as caught:
        check(read(path, overrides))
    first, *rest = str(caught.value).splitlines()
    assert first.startswith(f"recipe {path}: {len(rest)} mistake")
    return [line.strip() for line in rest]


def test_defaults_are_filled_and_arrays_become_tuples(recipe_file):
    recipe = check(read(recipe_file))
    assert recipe.model.options == {"hidden": (16,), "dropout": 0.0, "width": 1}
    assert recipe.method.options == {"families": 2, "every": 5, "engine": "forward"}
    assert recipe.optimizer.options == {"lr": 1.0, "momentum": 0.9}
    assert recipe.optimizer.parts["schedule"][0].name == "cosine"
    assert recipe.loss.name == "cross-entropy"
    assert recipe.meta_set.options["per_class"] == 10
    assert recipe.data.parts["bias"][0].options == {"rate": 0.4}
    assert recipe.data.parts["bias"][0].added == {"seed": None}
    assert set(recipe.data.added.values()) == {None}
    assert {"root", "posteriors", "labeled"} <= set(recipe.data.added)
    assert (recipe.train["epochs"], recipe.train["seed"], recipe.train["device"]) == (4, 0, "auto")


def test_a_part_is_built_with_its_options(recipe_file):
    assert check(read(recipe_file)).model.bind()((1, 8, 8), 10) == ("mlp", (1, 8, 8), 10, (16,), 0.0)


def test_every_mistake_is_in_one_message(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text("""
trian = { epochs = 3 }
[data]
name = "digits"
sise = 3
bias = [{ name = "noise", rate = 1.4 }, { name = "tial" }, { name = "tail", order = "upp", seed = -1 }]
[model]
name = "mlp"
hidden = [16, "x"]
[method]
name = "cmw-net"
engine = "unroled"
familes = 2
[train]
epochs = "many"
batch_size = 8.5
device = "gpu"
[optimizer]
name = "sgd"
schedule = { name = "cosin" }
""")
    assert set(mistakes(path)) == {
        "trian: a recipe has no such section; there are: augment, compare, data, features, loss, meta_set, method, "
        "model, optimizer, train; got {\"epochs\": 3}. Did you mean 'train'?",
        "data.sise: digits has no option 'sise'; there are: clean, decisions, foreign, further_tests, labeled, "
        "posteriors, reviewed, root, "
        "size; got 3. Did you mean 'size'?",
        "data.bias.0.rate: got 1.4; should be less than or equal to 1",
        "data.bias.1.name: no bias named 'tial'; there are: noise, tail. Did you mean 'tail'?",
        "data.bias.2.order: got 'upp'; should be 'up' or 'down'. Did you mean 'up'?",
        "data.bias.2.seed: got -1; should be greater than or equal to 0",
        "model.hidden.1: got 'x'; should be a valid integer",
        "method.engine: no engine named 'unroled'; there are: forward, unrolled. Did you mean 'unrolled'?",
        "method.familes: cmw-net has no option 'familes'; there are: engine, every, families; got 2. "
        "Did you mean 'families'?",
        "train.epochs: got 'many'; should be a valid integer",
        "train.batch_size: got 8.5; should be a valid integer",
        "train.device: got 'gpu'; should be auto, cpu, mps, cuda or cuda:0, cuda:1, ...",
        "optimizer.lr: missing; expected a number",
        "optimizer.schedule.name: no schedule named 'cosin'; there are: constant, cosine. Did you mean 'cosine'?",
    }


@pytest.mark.parametrize(
    ("override", "start"),
    [
        ("model.width=[1]", "model.width: got [1]; should be a valid integer, or should be a valid string"),
        ("train.epochs=0", "train.epochs: got 0; should be greater than or equal to 1"),
        ("train.epochs=true", "train.epochs: got true; should be a valid integer"),
        ("train.warmup_epochs=9", "train.warmup_epochs: got 9; should be at most train.epochs, 4"),
        ("train=3", "train: got 3; should be a table of options: device,"),
        ("model=mlp", "model: got 'mlp'; should be a table with the name of the model: mlp; write model.name=mlp"),
        ("model.hidden=3", "model.hidden: got 3; should be a valid array, such as [3]"),
        ("data.bias=tail", "data.bias: got 'tail'; should be a list of tables, each with a name, such as [{name="),
        ("data.bias=3", "data.bias: got 3; should be a list of tables"),
        ("data.bias=[3]", "data.bias.0: got 3; should be a table with the name of the bias: noise, tail"),
        ("data.bias=[{name='noise'}]", "data.bias.0.rate: missing; expected a number, at least 0, at most 1"),
        ("model={}", "model.name: missing; should be the name of the model: mlp"),
        ("model.name=3", "model.name: got 3; should be the name of the model: mlp"),
        ("model.dropout=1979-05-27", "model.dropout: got '1979-05-27'; should be a valid number"),
        ("compare.emr={}", "compare.emr: no method named 'emr'; there are: cmw-net, erm, mw-net. Did you mean 'erm'?"),
        ("compare=3", "compare: got 3; should be tables named after methods"),
        ("compare.erm=3", "compare.erm: got 3; should be a table of sections"),
        ("compare.erm.optimizer.lr=high", "compare.erm.optimizer.lr: got 'high'; should be a valid number"),
        ("epochs=3", "epochs: a recipe has no such section; did you mean train.epochs=3?"),
        ("optimizer.name=3", "optimizer.name: got 3; should be the name of the optimizer: "),
        ("compare.erm.method.every=2", "compare.erm.method.every: erm has no option 'every'; it has none; got 2."),
        (
            "compare.erm.method.nam=x",
            "compare.erm.method.nam: erm has no option 'nam'; it has none; got 'x'. Did you mean",
        ),
    ],
)
def test_each_kind_of_mistake_says_what_was_got_and_what_is_allowed(recipe_file, override, start):
    (mistake,) = mistakes(recipe_file, override)
    assert mistake.startswith(start)


def test_an_option_under_another_name_is_found_by_its_value(recipe_file):
    (mistake,) = mistakes(recipe_file, "model.head=cosine")
    assert mistake.startswith("model.head: mlp has no option 'head'; there are: ")
    assert mistake.endswith("got 'cosine'. Did you mean model.logits = 'cosine'?")
    assert "Did you mean" not in mistakes(recipe_file, "model.head=3")[0]


def test_missing_sections_are_named(tmp_path):
    path = tmp_path / "empty.toml"
    path.write_text("")
    assert [line.partition(":")[0] for line in mistakes(path)] == [
        "data", "model", "method", "optimizer", "train",
    ]  # fmt: skip


def test_infinity_survives_the_check(recipe_file):
    assert check(read(recipe_file, ["optimizer.lr=inf"])).optimizer.options["lr"] == float("inf")


def test_a_mistake_of_the_recipe_is_not_repeated_for_each_compared_method(recipe_file):
    assert mistakes(recipe_file, "train.epochs=0", "compare.erm.optimizer.lr=0.1") == [
        "train.epochs: got 0; should be greater than or equal to 1"
    ]


def test_a_wrong_name_does_not_hide_the_mistakes_inside(recipe_file):
    found = mistakes(recipe_file, "data.name=digit", "data.bias.0.rate=2", "optimizer.schedule.floor=low")
    assert [line.partition(":")[0] for line in found] == ["data.name", "data.bias.0.rate", "optimizer.schedule.floor"]


def test_a_long_value_is_cut(recipe_file):
    (mistake,) = mistakes(recipe_file, f"train.epochs={[1] * 100}")
    assert mistake == f"train.epochs: got [{'1, ' * 18}1,...; should be a valid integer"


def test_a_method_keeps_the_options_it_has_and_gets_its_own_section(recipe_file):
    contents = read(recipe_file, ["compare.erm.optimizer.lr=0.05", "compare.erm.optimizer.schedule.name=constant"])
    plain = check(for_method(contents, "erm"))
    assert plain.method.options == {}
    assert plain.optimizer.options == {"lr": 0.05, "momentum": 0.9}
    assert plain.optimizer.parts["schedule"][0].name == "constant"
    single = check(for_method(contents, "mw-net"))
    assert single.method.options == {"every": 5, "engine": "forward"}
    assert single.optimizer.options["lr"] == 1
    assert check(for_method(contents, "cmw-net")) == check(contents)


def test_other_biases_keep_the_options_that_the_recipe_has_for_them(recipe_file):
    contents = read(recipe_file, ["data.bias=[{name='tail', factor=5, order='down', seed=3}]"])
    before = dict(contents.values["data"])
    biased = check(for_bias(contents, "x", {"bias": [{"name": "noise", "rate": 0.1}, {"name": "tail", "factor": 7}]}))
    noise, tail = biased.data.parts["bias"]
    assert (noise.name, noise.options, noise.added) == ("noise", {"rate": 0.1}, {"seed": None})
    assert (tail.name, tail.options, tail.added) == ("tail", {"factor": 7.0, "order": "down"}, {"seed": 3})
    assert check(for_bias(contents, "clean", {})).data.parts["bias"] == ()
    assert contents.values["data"] == before


def test_candidates_and_labels_are_chosen_likewise(recipe_file):
    contents = read(recipe_file, ["data.candidates={name='pairs', q=0.5, seed=3}", "data.labeled=9"])
    (rule,) = check(for_bias(contents, "x", {"candidates": {"q": 0.1}})).data.parts["candidates"]
    assert (rule.name, rule.options, rule.added) == ("pairs", {"q": 0.1}, {"seed": 3})
    clean = check(for_bias(contents, "clean", {})).data
    assert (clean.parts["candidates"], clean.added["labeled"]) == ((), None)
    few = check(for_bias(read(recipe_file), "x", {"labeled": 40, "candidates": {"q": 0.1}})).data
    assert (few.parts["candidates"][0].name, few.added["labeled"]) == ("independent", 40)


def test_a_section_that_names_another_part_keeps_what_this_has_too(recipe_file):
    text = (
        recipe_file.read_text()
        + """
[compare.erm.optimizer]
schedule = { name = "constant" }
"""
    )
    recipe_file.write_text(text.replace('name = "cosine"', 'name = "cosine", floor = 0.1'))
    plain = check(for_method(read(recipe_file), "erm"))
    assert (plain.optimizer.parts["schedule"][0].name, plain.optimizer.options["lr"]) == ("constant", 1)
    assert check(for_method(read(recipe_file), "mw-net")).optimizer.parts["schedule"][0].options == {"floor": 0.1}
