"""Push notifications of official agents, delivered through Meddler to webhooks of official clients.

Each client registers webhooks with each agent, directly and through Meddler, in every binding, in a send
and as configs; what its webhook got and what it reads back must be the same both times (compare.py). Then
the recording of that very run: every registration was rewritten, every delivery came through Meddler and
belongs to its delegation, and no secret of any is kept.
"""

import json
import tempfile
from pathlib import Path

from common import free_port

OPERATIONS = "push-crud,push-recv"
SECRETS = ("fake-push-token", "fake-push-credentials")

#: The JavaScript agent sends credentials or the token, not both; the configs here have both.
KNOWN = {"1.0 in JavaScript": {"push_token_missing"}}

#: name, program, what runs it, its arguments, protocol spoken, clients, bindings
AGENTS = [
    ("1.0", "agent.py", "1.0", [], "1.0", "py1,js1", "jsonrpc,rest,grpc"),
    ("0.3", "agent03.py", "0.3", [], "0.3", "py1,py03,js1,js03", "jsonrpc,rest,grpc"),
    ("0.3 on a 1.0 agent", "agent.py", "1.0", ["--compat03"], "0.3", "py03,js03", "jsonrpc,rest,grpc"),
    ("1.0 in JavaScript", "agent.mjs", "js", [], "1.0", "py1,js1", "jsonrpc"),
]


def recorded(tally, run, name, work):
    """What the recording has of a round."""
    recordings = work / "recordings"
    run("export", "-R", recordings, "-o", work / "push.a2a.jsonl")
    text = (work / "push.a2a.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    exchanges = [x for x in lines if x.get("type") == "exchange"]
    delegations = [x for x in lines if x.get("type") == "delegation"]
    deliveries = [x for x in exchanges if x["operation"] == "PushNotification"]

    def intercepted():
        assert deliveries, "no delivery came through Meddler"
        given = [x for x in exchanges if any(e["kind"] == "webhook" for e in x.get("edits", []))]
        kinds = {x["operation"] for x in given}
        assert kinds & {"SendMessage", "SendStreamingMessage"} and "CreateTaskPushNotificationConfig" in kinds, kinds
        missed = [x for x in lines if x.get("type") == "event" and x["name"] == "webhook_not_intercepted"]
        assert not missed, missed[:2]
        # A client closes its webhook when it has seen the end; what comes later finds nobody, as without Meddler.
        answered = [x["response"]["status"] for x in deliveries if x["response"]]
        assert answered and set(answered) == {200}, answered
        odd = [x["outcome"] for x in deliveries if not x["response"] and x["outcome"] not in ("upstream_error", "cut_by_agent")]
        assert not odd, odd
        wrong = {p["name"] for x in deliveries for p in x["problems"]} - KNOWN.get(name, set())
        assert not wrong, wrong

    def in_their_delegation():
        owned = {ident for x in delegations for ident in x["exchanges"]}
        lost = [x["id"] for x in deliveries if x["id"] not in owned]
        assert not lost, f"{len(lost)} of {len(deliveries)} deliveries are in no delegation"

    def nothing_secret():
        for secret in SECRETS:
            assert secret not in text, f"{secret} is in the export"
            for file in recordings.rglob("*"):
                if file.is_file():
                    assert secret.encode() not in file.read_bytes(), f"{secret} is in {file.name}"

    tally.test(f"push, {name}: every delivery came through Meddler", intercepted)
    tally.test(f"push, {name}: every delivery is in its delegation", in_their_delegation)
    tally.test(f"push, {name}: no secret is kept", nothing_secret)


def run(tally, options, tools):
    """All agents. `tools` is the module that starts processes: interop.py."""
    for name, program, python, arguments, protocol, clients, bindings in AGENTS:
        print(f"push, {name}:", flush=True)
        if options.clients:
            clients = ",".join(x for x in clients.split(",") if x in options.clients.split(","))
        if not clients:
            continue
        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder)
            with tools.agent(program, python, arguments, work) as ready:
                port = free_port()
                with tools.meddler(tools.config_for(ready["http"], port, work), port, work):
                    tally.compare(["--protocol", protocol, "--ops", OPERATIONS, "--clients", clients, "--bindings", bindings,
                                   "--agent", ready["http"], "--proxy", f"http://127.0.0.1:{port}"])
                recorded(tally, tools.run, name, work)
