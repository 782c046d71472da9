"""What the programs of all Python clients share: the servers' addresses and keys, and the line for each check."""

import json
import os
import sys
import time
import traceback

URL = os.environ["SIGNALBOX_URL"]
KEY = os.environ["SIGNALBOX_KEY"]
UNCOUNTED_KEY = os.environ["UNCOUNTED_KEY"]
EMPTY_KEY = os.environ["EMPTY_KEY"]
FAULTY_URL = os.environ["FAULTY_URL"]
FAULTY_KEY = os.environ["FAULTY_KEY"]
CLAUDE_URL = os.environ["CLAUDE_URL"]
CLAUDE_KEY = os.environ["CLAUDE_KEY"]
# This model refuses a forced tool call. Some clients do not force a tool if they see this name: they get `auto`.
CLAUDE = "claude-opus-5-5"
# `platform.adapted` of an answer that Signalbox requested in a JSON schema, in place of a forced tool call.
ADAPTED = ["tool_choice"]

HELLO = [{"role": "user", "content": "Say hello."}]
WEATHER = [{"role": "user", "content": "What is the weather in Bern?"}]

failed = False


def check(name):
    """Runs a check at once, and prints its line. The function returns the usage of its calls with KEY, or None."""

    def run(function):
        global failed
        began = time.monotonic()
        try:
            # Some clients print a line without its end.
            print("\n" + json.dumps({"check": name, "usage": function() or []}), flush=True)
        except Exception:
            failed = True
            print(f"{name}:\n{traceback.format_exc()}", file=sys.stderr, flush=True)
        print(f"{name}: {time.monotonic() - began:.1f} s", flush=True)
        return function

    return run


def usage(input_tokens, output_tokens, platform=None):
    """The usage of one call, as the client showed it; `platform` is the object of the answer, where the client shows it."""
    seen = {"input": input_tokens, "output": output_tokens}
    if platform is not None:
        seen["credits"] = platform["credits_consumed"]
    return seen


def raised(kind, call):
    """The error of this class that a call must raise."""
    try:
        found = call()
    except kind as error:
        return error
    raise AssertionError(f"{kind} was not raised, but this was returned: {found!r}")


def finish():
    sys.exit(1 if failed else 0)
