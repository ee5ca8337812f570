"""Each fault family, binding, version and official client: what the client must see.

One Meddler with a rule for every case, told apart by the text of the message, stands before a real agent.
Each client sends one message for every case: once to be answered whole, once to be answered by a stream,
and once so that the rule acts after the first event of the agent's own stream. What the client prints
must be what faults.md of the documentation says, and never an error of decoding.
"""

import json
import re
import subprocess
import tempfile
from pathlib import Path

from common import free_port
from compare import BINDINGS, CLIENTS

#: What an SDK says when it could not read an answer at all.
UNREADABLE = re.compile(r"(?i)pars(e|ing)|decod|validation error|deserial|not valid json|unexpected (token|end)|malformed")
FAILED, REJECTED, COMPLETED = (re.compile(f'"(TASK_STATE_)?{word}"', re.I) for word in ("failed", "rejected", "completed"))
CANARY = re.compile(r"mdl-[0-9a-f]{16}")


class Seen:
    """What a client printed for one operation."""

    def __init__(self, lines):
        self.events = [x["value"] for x in lines if x["kind"] == "event"]
        self.errors = [x["value"] if "value" in x else {"type": x["type"], "message": x["message"]}
                       for x in lines if x["kind"] == "error"]
        self.text = json.dumps(self.events, ensure_ascii=False)
        self.error = json.dumps(self.errors, ensure_ascii=False)

    def __str__(self):
        return f"events {self.text[:600]} errors {self.error[:400]}"


def no_error(seen):
    return None if not seen.errors else "an error was raised"


def readable(seen):
    return "the answer could not be decoded" if UNREADABLE.search(seen.error) else None


def ends_in(state):
    def check(seen):
        last = json.dumps(seen.events[-1:], ensure_ascii=False)
        return no_error(seen) or (None if state.search(last) else f"the last event is not {state.pattern}")
    return check


def raises(pattern):
    def check(seen):
        wrong = readable(seen)
        return wrong or (None if re.search(pattern, seen.error, re.I) else f"no error like {pattern}")
    return check


def says(pattern, state=None):
    def check(seen):
        wrong = no_error(seen) or (ends_in(state)(seen) if state else None)
        return wrong or (None if re.search(pattern, seen.text) else f"nothing like {pattern}")
    return check


def says_nothing(seen):
    artifacts = re.search(r'"artifacts": \[\{|"text": "[^"]', json.dumps(seen.events[-1:]))
    return no_error(seen) or (None if not artifacts else "there are artifacts or words")


def silent(seen):
    # The Python 0.3 client has no other word for a stream without an event.
    wrong = None if "StopAsyncIteration" in seen.error else no_error(seen)
    return wrong or (None if not seen.events else "there are events")


def after_the_first(check):
    def both(seen):
        if not seen.events:
            return "the agent's first event did not arrive"
        return check(seen)
    return both


#: name -> (the fault, what is seen, for which calls)
BOTH = ("say", "stream")
CASES = {
    "error-failed": ({"error": "failed"}, ends_in(FAILED), BOTH),
    "error-rejected": ({"error": {"state": "rejected", "message": "not today"}}, says("not today", REJECTED), BOTH),
    "error-named": ({"error": "TaskNotFoundError"}, raises(r"TaskNotFound|not.?found|-32001|404"), BOTH),
    "error-code": ({"error": {"code": -32603, "message": "broken inside"}}, raises(r"broken inside|Internal|-32603|500"), BOTH),
    "error-status": ({"error": {"status": 503, "retry_after": "5s"}}, raises(r"503|unavailable|-32603"), BOTH),
    "error-grpc": ({"error": {"grpc": "PERMISSION_DENIED", "message": "no entry"}},
                   raises(r"no entry|403|PERMISSION_DENIED|permission"), BOTH),
    "empty-task": ({"empty": "task"}, says_nothing, BOTH),
    "empty-message": ({"empty": "message"}, says_nothing, BOTH),
    "empty-parts": ({"empty": "parts"}, says_nothing, BOTH),
    "empty-stream": ({"empty": "stream"}, silent, ("stream",)),
    "hostile-made": ({"hostile": {"family": "injection", "answer": "made"}}, says(CANARY.pattern), BOTH),
    "hostile-real": ({"hostile": "injection"}, says(CANARY.pattern), BOTH),
    "delay": ({"delay": "200ms"}, says("Echo|chunk", COMPLETED), BOTH),
    "custom-text": ({"custom": {"text": "made up"}}, says("made up"), BOTH),
    "custom-task": ({"custom": {"text": "made up", "state": "completed"}}, says("made up", COMPLETED), BOTH),
    "custom-state": ({"custom": {"text": "which one?", "state": "input_required"}}, says("which one"), BOTH),
}
#: The same, from the second event of the agent's stream on.
LATER = {
    "error-failed": ends_in(FAILED),
    # A 0.3 agent's HTTP+JSON stream has no form for an error: the SDK's server breaks it off, and so do we.
    "error-named": raises(r"TaskNotFound|not.?found|-32001|404|incomplete|closed|terminated|network"),
    "error-grpc": raises(r"no entry|403|PERMISSION_DENIED|permission|incomplete|closed|terminated|network"),
    "empty-task": ends_in(COMPLETED),
    "hostile-real": says(CANARY.pattern, COMPLETED),
    "delay": says("chunk 3 of 3", COMPLETED),
    "custom-text": says("made up", COMPLETED),
}
#: Cases in which the agent's own stream passes.
FORWARDED = {"hostile-real", "delay"}
#: Clients that cannot read the real agent's own stream, with or without Meddler, and why.
KNOWN = {
    ("js03", "rest"): "the Python server spreads an event over several data: lines, the JS client wants one",
}


def rules():
    lines = ["faults:"]
    for name, (fault, _, _) in CASES.items():
        lines.append(f"  - {{ name: {name}, agent: harness, when: {{ text: '(^| ){name}$' }}, "
                     f"inject: {json.dumps(fault)}, seed: 7 }}")
    for name in LATER:
        fault = dict(CASES[name][0])
        if name == "hostile-real":
            fault = {"hostile": {"family": "injection", "in": "metadata"}}
        if name == "delay":
            fault = {"delay": {"fixed": "100ms", "at": "event"}}
        lines.append(f"  - {{ name: {name}-later, agent: harness, when: {{ text: '(^| ){name}-later$', event: 2 }}, "
                     f"inject: {json.dumps(fault)}, seed: 7 }}")
    return "\n".join(lines) + "\n"


def operations(client, binding):
    """name of the case, operation of the client, what must be seen"""
    for name, (_, check, calls) in CASES.items():
        for call in calls:
            if call == "stream" and name in FORWARDED and (client, binding) in KNOWN:
                continue
            text = name if call == "say" else f"stream:3:0 {name}"
            yield name, f"{call}={text}", check
    if (client, binding) in KNOWN:
        return
    for name, check in LATER.items():
        yield f"{name}-later", f"stream=stream:3:0 {name}-later", after_the_first(check)


def one_client(tally, client, protocol, binding, url):
    todo = list(operations(client, binding))
    command = [*CLIENTS[client], "--url", url, "--binding", binding, "--ops", ",".join(x[1] for x in todo), "--timeout", "10"]
    if client not in ("py03", "js03"):
        command += ["--protocol", protocol]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    lines = {}
    for line in done.stdout.splitlines():
        value = json.loads(line)
        lines.setdefault(value["op"], []).append(value)
    before = tally.failed
    for name, operation, check in todo:
        def test(operation=operation, check=check):
            assert operation in lines or "empty-stream" in operation, f"the client said nothing: {done.stderr[-300:]}"
            seen = Seen(lines.get(operation, []))
            wrong = check(seen)
            assert wrong is None, f"{wrong}: {seen}"
        tally.test(f"{client} {protocol} {binding} {operation}", test)
    print(f"  {client} {protocol} {binding}: {len(todo)} faults, {tally.failed - before} failed", flush=True)


def recorded(tally, protocol, work):
    """Every rule fired, and the recording says so."""
    import interop

    def check():
        lines = interop.run("log", "-R", work / "recordings", "--format", "json").stdout.splitlines()
        fired = {rule for line in lines for rule in json.loads(line)["faults"]}
        missing = ({*CASES} | {f"{x}-later" for x in LATER}) - fired
        assert not missing, f"never fired, by the recording: {sorted(missing)}"
    tally.test(f"{protocol}: every rule that fired is recorded", check)


def run(tally, options):
    import interop
    for protocol, program, clients in (("1.0", "agent.py", ["py1", "js1"]), ("0.3", "agent03.py", ["py03", "js03"])):
        print(f"faults {protocol}:", flush=True)
        wanted = [x for x in clients if not options.clients or x in options.clients.split(",")]
        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder)
            with interop.agent(program, protocol, [], work) as ready:
                port = free_port()
                with interop.meddler(interop.config_for(ready["http"], port, work, rules()), port, work):
                    for client in wanted:
                        for binding in BINDINGS:
                            one_client(tally, client, protocol, binding, f"http://127.0.0.1:{port}")
                if wanted:
                    recorded(tally, protocol, work)
