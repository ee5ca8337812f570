#!/usr/bin/env python3
"""Meddler between official SDK clients and agents: the promise of the README, end to end.

For each round an agent is started, Meddler in front of it, and every client of the version runs its
whole list of operations directly and through Meddler: the observations must be equal (compare.py).
Then the recording of that very run is exported, copied to an empty folder and asserted over, once with
a suite that holds and once with one changed expectation. At last the fault families (faults.py) and push
notifications (push.py).

The last line is `N passed, N failed`; the exit status is 0 only when nothing failed.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import free_port

HERE = Path(__file__).resolve().parent
HOME = Path(os.environ.get("A2A_HARNESS_DIR") or Path.home() / ".cache/a2a-harness")
MEDDLER = os.environ.get("MEDDLER_BIN") or str(HERE.parents[1] / "target/debug/meddler")
PYTHON = {"1.0": HOME / "py10/bin/python", "0.3": HOME / "py03/bin/python"}
#: Operations that show every kind of answer once: for rounds that need not be whole.
QUICK = "card,extcard,send-echo,stream-chunks,stream-fail,cancel,push-crud,err-get,err-subscribe"

#: name, agent program, its version's Python, its arguments, protocol spoken, TLS towards the agent
ROUNDS = [
    ("1.0", "agent.py", "1.0", [], "1.0", False),
    ("0.3", "agent03.py", "0.3", [], "0.3", False),
    ("0.3 on a 1.0 agent", "agent.py", "1.0", ["--compat03"], "0.3", False),
    ("1.0 over TLS", "agent.py", "1.0", [], "1.0", True),
]


class Process:
    """A child that is stopped by its own id, and whose output is kept for the failure report."""

    def __init__(self, command, log, **options):
        self.log = open(log, "wb")
        self.child = subprocess.Popen([str(x) for x in command], stderr=self.log, stdin=subprocess.DEVNULL, **options)

    def stop(self):
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGTERM)
            try:
                self.child.wait(15)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
        self.log.close()
        return self.child.returncode


@contextlib.contextmanager
def agent(program, python, arguments, work):
    """Starts an agent; gives its `ready` line."""
    process = Process([PYTHON.get(python, "node"), HERE / program, "--max-seconds", "1500", *arguments], work / "agent.log",
                      stdout=subprocess.PIPE)
    try:
        line = process.child.stdout.readline()
        if not line:
            sys.exit(f"{program} did not start:\n{(work / 'agent.log').read_text()}")
        yield json.loads(line)
    finally:
        process.stop()


@contextlib.contextmanager
def meddler(config, port, work):
    """Starts `meddler serve` with this configuration text; gives nothing until its port is open."""
    path = work / "meddler.yaml"
    path.write_text(config)
    process = Process([MEDDLER, "serve", "-c", path], work / "meddler.log", stdout=subprocess.DEVNULL)
    try:
        for _ in range(600):
            if process.child.poll() is not None:
                sys.exit(f"meddler did not start:\n{(work / 'meddler.log').read_text()}")
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
                break
            time.sleep(0.05)
        yield process
    finally:
        code = process.stop()
        if code != 0:
            print(f"  meddler ended with {code}:\n{(work / 'meddler.log').read_text()[-2000:]}")


def config_for(forward, port, work, more=""):
    return (f"version: 1\nstore: {{ path: {json.dumps(str(work / 'recordings'))} }}\n"
            f"admin: {{ listen: \"127.0.0.1:0\" }}\n"
            f"remote_agents:\n  harness:\n    listen: 127.0.0.1:{port}\n    forward: {forward}\n{more}")


def run(*command, cwd=None, check=True):
    """Runs meddler; gives its standard output."""
    done = subprocess.run([MEDDLER, *map(str, command)], cwd=cwd, capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise AssertionError(f"meddler {' '.join(map(str, command))} ended with {done.returncode}: "
                             f"{done.stderr.strip()[-1000:]} {done.stdout.strip()[-1000:]}")
    return done


class Tally:
    def __init__(self):
        self.passed, self.failed = 0, 0

    def test(self, name, check):
        """Runs one check; an assertion that fails is a failure and not the end."""
        try:
            check()
        except AssertionError as wrong:
            self.failed += 1
            print(f"  FAIL {name}: {wrong}", flush=True)
        else:
            self.passed += 1

    def compare(self, options):
        """Runs compare.py and adds its counts."""
        done = subprocess.run([sys.executable, HERE / "compare.py", *options], capture_output=True, text=True, check=False)
        print("  " + done.stdout.strip().replace("\n", "\n  "), flush=True)
        counts = done.stdout.strip().splitlines()[-1:] or [""]
        words = counts[0].replace(",", "").split()
        if len(words) != 4 or not words[0].isdigit():
            print(f"  FAIL compare.py: {done.stderr.strip()[-1000:]}")
            self.failed += 1
            return
        self.passed += int(words[0])
        self.failed += int(words[2])


def suite(protocol, last_text):
    """A suite over what the clients of compare.py did."""
    return f"""version: 1
tests:
  - name: every binding delegated
    allow_failed: true
    select: {{ agent: harness, version: "{protocol}" }}
    assert:
      - delegated_to: {{ agent: harness, contains: "hello \u4e16\u754c", binding: jsonrpc }}
      - delegated_to: {{ agent: harness, contains: "hello \u4e16\u754c", binding: http+json }}
      - delegated_to: {{ agent: harness, contains: "hello \u4e16\u754c", binding: grpc }}
      - not_delegated_to: {{ agent: harness, contains: "never said by any client" }}
      - metric: {{ name: delegations, gte: 20 }}
  - name: the echo came back
    select: {{ agent: harness, text: "hello \u4e16\u754c" }}
    assert:
      - state: completed
      - text: {{ contains: "{last_text}" }}
      - json_path: {{ path: "$.artifacts[0].parts[0].kind", equals: text }}
"""


def offline(tally, name, protocol, work):
    """The recording of the round: listed, exported, asserted over in an empty folder."""
    recordings = work / "recordings"

    def listed():
        lines = [json.loads(x) for x in run("log", "-R", recordings, "--format", "json").stdout.splitlines()]
        sends = [x for x in lines if x["operation"] in ("SendMessage", "SendStreamingMessage")]
        assert len(sends) == len(lines) and len(lines) > 20, f"{len(lines)} delegations listed"
        for line in lines:
            assert line["binding"] in ("jsonrpc", "http+json", "grpc") and line["version"] == protocol, line
        ended = [x for x in lines if x["state"] or x["outcome"] in ("message", "error", "malformed")
                 or x["outcome"].startswith("cut_by")]
        assert len(ended) == len(lines), [x for x in lines if x not in ended][:3]

    def asserted():
        with tempfile.TemporaryDirectory() as empty:
            run("export", "-R", recordings, "-o", work / "run.a2a.jsonl")
            shutil.copy(work / "run.a2a.jsonl", empty)
            Path(empty, "holds.yaml").write_text(suite(protocol, "Echo: hello"))
            Path(empty, "fails.yaml").write_text(suite(protocol, "Echo: goodbye"))
            run("assert", "holds.yaml", "-R", "run.a2a.jsonl", cwd=empty)
            failed = run("assert", "fails.yaml", "-R", "run.a2a.jsonl", cwd=empty, check=False)
            assert failed.returncode == 1, f"one changed expectation: exit {failed.returncode}, not 1"
            named = re.search(r"meddler show [dx]-[0-9a-f]{8}", failed.stdout)
            assert "Echo: goodbye" in failed.stdout and named, failed.stdout

    tally.test(f"{name}: log lists every delegation", listed)
    tally.test(f"{name}: a suite over the export holds offline", asserted)


def certificate(work):
    done = subprocess.run([PYTHON["1.0"], HERE / "mkcert.py", work / "tls"], check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"mkcert.py: {done.stderr}")
    return work / "tls"


def transparency(tally, options, row):
    """One round: the same observations direct and proxied, then the recording."""
    name, program, python, arguments, protocol, tls = row
    print(f"{name}:", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        compare, more = ["--protocol", protocol], ""
        if tls:
            made = certificate(work)
            arguments = [*arguments, "--tls-cert", made / "cert.pem", "--tls-key", made / "key.pem"]
            more = (f"    tls: {{ ca: {json.dumps(str(made / 'ca.pem'))} }}\n"
                    f"    listen_tls: {{ cert: {json.dumps(str(made / 'cert.pem'))}, key: {json.dumps(str(made / 'key.pem'))} }}\n")
            compare += ["--ca", str(made / "ca.pem")]
        if options.quick or tls:
            compare += ["--ops", QUICK]
        if options.clients:
            compare += ["--clients", options.clients]
        with agent(program, python, arguments, work) as ready:
            port = free_port()
            scheme = "https" if tls else "http"
            with meddler(config_for(ready["http"], port, work, more), port, work):
                tally.compare([*compare, "--agent", ready["http"], "--proxy", f"{scheme}://127.0.0.1:{port}"])
            if not (options.quick or tls):
                offline(tally, name, protocol, work)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--quick", action="store_true", help="a part of the operations")
    p.add_argument("--clients", default="", help="of compare.py: py1,py03,js1,js03")
    p.add_argument("--only", default="", help="a round's name, `faults` or `push`")
    options = p.parse_args()
    tally = Tally()
    for row in ROUNDS:
        if not options.only or options.only == row[0]:
            transparency(tally, options, row)
    if not options.only or options.only == "faults":
        import faults
        faults.run(tally, options)
    if not options.only or options.only == "push":
        import push
        push.run(tally, options, sys.modules[__name__])
    print(f"{tally.passed} passed, {tally.failed} failed")
    sys.exit(1 if tally.failed or not tally.passed else 0)


if __name__ == "__main__":
    main()
