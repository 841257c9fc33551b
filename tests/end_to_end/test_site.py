"""The documentation builds as a site without a warning: no page, link or anchor is missing, all docstrings are read."""

import json
import subprocess
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; scripts of the gallery are shown, not run, since other tests run them."""
    if find_spec("mkdocs") is None:
        pytest.skip("mkdocs is not installed: pip install 'reweigh[docs]'")
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GALLERY", "show")
        patch.setenv("NO_MKDOCS_2_WARNING", "1")
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
        built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    page = (site / "index.html").read_text()
    assert 'src="http' not in page
    assert 'rel="stylesheet" href="http' not in page


def test_the_reference_and_the_gallery_are_there(site: Path) -> None:
    assert "partial_fit" in (site / "reference" / "estimator.html").read_text()
    assert "two-looks" in (site / "reference" / "tables.html").read_text()
    scripts = sorted(path.stem for path in (ROOT / "docs" / "gallery").glob("*.py"))
    assert len(scripts) >= 7
    for name in scripts:
        assert "<code>" in (site / "gallery" / f"{name}.html").read_text()
        assert (site / "gallery" / f"{name}.ipynb").is_file()


def test_a_notebook_holds_what_its_cells_print_and_draw(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    spec = spec_from_file_location("hook", ROOT / "docs" / "hook.py")
    assert spec is not None
    assert spec.loader is not None
    hook = module_from_spec(spec)
    spec.loader.exec_module(hook)
    script = tmp_path / "a.py"
    script.write_text(
        '"""# Title\n\nWords."""\n\n# %%\n# More\nimport matplotlib.pyplot as plt\nplt.plot([1])\nprint(6 * 7)\n'
    )
    made = json.loads(hook.notebook(hook.executed(script)))
    words, more, code = made["cells"]
    assert [words["source"], more["source"].strip(), code["execution_count"]] == ["# Title\n\nWords.", "More", 1]
    printed, drawn = code["outputs"]
    assert printed["text"] == "42"
    assert "<svg" in drawn["data"]["image/svg+xml"]
