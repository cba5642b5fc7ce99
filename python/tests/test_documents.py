"""The examples, the notebook and the code of the documents run as they stand; the stubs say what is true."""

import re
import subprocess
import sys
from pathlib import Path

import nbclient
import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "python/examples"


def blocks(page):
    """The Python code of a page that can run, as one program."""
    found = re.findall(r"(<!-- not run: [^\n]+ -->\n)?```python\n(.*?)```", page.read_text(), re.DOTALL)
    return "\n".join(code for skipped, code in found if not skipped)


@pytest.mark.parametrize("page", ["docs/python.md", "python/README.md"])
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = blocks(ROOT / page)
    assert "cape.perturb" in code
    exec(compile(code, page, "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_an_example_runs(example, tmp_path):
    run = subprocess.run([sys.executable, example], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    # no list has this name: no draw can fall on it
    assert "Wojciechowska" in example.read_text() and "Wojciechowska" not in run.stdout


def test_the_notebook_runs_and_shows_the_changes():
    notebook = nbformat.read(EXAMPLES / "first_steps.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "it is kept without outputs"
    done = nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    shown = [output.data for cell in done.cells for output in cell.get("outputs", []) if "data" in output]
    assert any("<ins" in data.get("text/html", "") for data in shown)


def run(*command):
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT / "python/tests", capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_stubs_and_sources_are_typed():
    run("mypy", "--strict", "--ignore-missing-imports", "-p", "cape_dp")


def test_the_stubs_are_those_of_the_module():
    only_in_stubs = str(ROOT / "python/tests/only_in_stubs.txt")
    run("mypy.stubtest", "cape_dp._cape_dp", "--ignore-missing-stub", "--allowlist", only_in_stubs)
