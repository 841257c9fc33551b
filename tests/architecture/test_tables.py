"""Every member of every table can be listed, chosen and written down."""

import inspect
import json

import pytest
from typer.testing import CliRunner

from reweigh.cli.app import app
from reweigh.cli.arguments import table_names
from reweigh.plan.check import check_options
from reweigh.plan.edit import plain
from reweigh.plan.plan import TABLES, members, options_of
from reweigh.recipes.read import shipped

MEMBERS = [(table, name) for table in TABLES for name in members(table)]


@pytest.mark.parametrize(("table", "name"), MEMBERS)
def test_a_member_says_what_it_is(table, name):
    part = members(table)[name]
    assert len((inspect.getdoc(part) or "").split()) > 2
    assert name == name.lower()
    assert "_" not in name
    assert not name.endswith(".")


@pytest.mark.parametrize(("table", "name"), MEMBERS)
def test_the_defaults_of_a_member_pass_its_own_check_and_survive_being_written(table, name):
    model = options_of(members(table)[name])
    defaults = {key: field.default for key, field in model.model_fields.items() if not field.is_required()}
    written = json.loads(json.dumps(plain(defaults)))
    _, mistakes = check_options(model, written, "here", name)
    required = [f"here.{key}" for key, field in model.model_fields.items() if field.is_required()]
    assert [mistake.path for mistake in mistakes] == required


@pytest.mark.parametrize("table", table_names(""))
def test_list_shows_every_member(table):
    result = CliRunner().invoke(app, ["list", table])
    assert result.exit_code == 0, result.stderr
    words = {line.split()[0] for line in result.stdout.splitlines() if line.strip()}
    assert words >= set(shipped() if table == "recipes" else members(table))
