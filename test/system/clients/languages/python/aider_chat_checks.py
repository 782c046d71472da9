import os
import subprocess
import sys
import tempfile
from pathlib import Path

from checks import UNCOUNTED_KEY, URL, check, finish

# It writes caches below the home.
home = tempfile.TemporaryDirectory()


@check("a question at the command line")
def question():
    with tempfile.TemporaryDirectory() as folder:
        options = ["--message", "/ask Say hello.", "--model", "openai/auto", "--yes-always", "--no-git", "--no-analytics"]
        run = subprocess.run(
            [str(Path(sys.executable).parent / "aider"), *options, "--no-check-update", "--no-show-model-warnings"],
            cwd=folder,
            env={
                **os.environ,
                "HOME": home.name,
                "LITELLM_LOCAL_MODEL_COST_MAP": "True",
                "OPENAI_API_BASE": f"{URL}/v1",
                "OPENAI_API_KEY": UNCOUNTED_KEY,
            },
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
    assert run.returncode == 0 and "simulated" in run.stdout, run.stdout + run.stderr


home.cleanup()
finish()
