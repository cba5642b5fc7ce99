"""Cape's own measuring programs, which are the benches of its crates."""

import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def built(name):
    """The path of a bench of cape-models, built if it has to be."""
    # as part of the workspace: one crate alone would be built with other features, and all below it once more
    command = ["cargo", "bench", "--workspace", "--bench", name, "--no-run", "--message-format=json"]
    lines = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout.splitlines()
    artifacts = (json.loads(line) for line in lines if line.startswith(b"{"))
    return next(path for artifact in artifacts if (path := artifact.get("executable")))
