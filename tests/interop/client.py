#!/usr/bin/env python3
"""Scripted client on the official Python SDK 1.x (a2a-sdk 1.x).

Runs named operations against an agent, or a proxy before it, and prints one
normalised JSON line per observation, so that two runs can be compared byte
for byte.  It speaks protocol 1.0, or 0.3 through the SDK's compatibility
clients, whichever the chosen interface of the card names.

  client.py --url http://127.0.0.1:8000 --binding jsonrpc --ops card,send-echo

The interface is taken from the card; --pin ignores the URLs on the card and
calls --url (or --grpc) itself, for a proxy that leaves the card alone.
"""

import argparse
import asyncio
import ssl
import sys
import uuid

import grpc
import httpx
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Value

from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.client import ClientCallContext
from a2a.types.a2a_pb2 import (
    AuthenticationInfo,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)

from common import Normaliser, say
from webhook import Webhook

BINDING = {"jsonrpc": "JSONRPC", "rest": "HTTP+JSON", "grpc": "GRPC"}
ENDED = {TaskState.TASK_STATE_COMPLETED, TaskState.TASK_STATE_FAILED, TaskState.TASK_STATE_CANCELED,
         TaskState.TASK_STATE_REJECTED}
EXTENSION = "https://harness.example.com/ext/probe/v1"
NO_TASK = "00000000-0000-4000-8000-000000000000"
OPS = {}


EXTRA = set()  # operations that `all` leaves out


def op(name, may_fail=False, extra=False):
    def register(func):
        OPS[name] = (func, may_fail)
        if extra:
            EXTRA.add(name)
        return func
    return register


class WireLog(grpc.aio.UnaryUnaryClientInterceptor):
    """Notes the status of every unary gRPC call."""

    def __init__(self, lines):
        self.lines = lines

    async def intercept_unary_unary(self, continuation, details, request):
        call = await continuation(details, request)
        method = details.method.decode() if isinstance(details.method, bytes) else details.method
        trailing = sorted({k for k, _ in (await call.trailing_metadata() or ())})
        self.lines.append([method, (await call.code()).name, trailing])
        return call


class Session:
    """One operation: its own connections, its own placeholders."""

    def __init__(self, args, name, may_fail):
        self.args, self.name, self.may_fail = args, name, may_fail
        self.norm, self.count, self.wire, self.closing = Normaliser(), 0, [], []
        self.card, self.legacy = None, False

    def note(self, kind, value):
        self.count += 1
        if hasattr(value, "DESCRIPTOR"):
            value = MessageToDict(value)
        say({"op": self.name, "n": self.count, "kind": kind, "value": self.norm(value)})

    def error(self, exc):
        self.count += 1
        line = {"op": self.name, "n": self.count, "kind": "error", "type": type(exc).__name__,
                "message": self.norm(str(exc))}
        if not self.may_fail:
            line["unexpected"] = True
        say(line)

    async def expect_error(self, awaitable):
        """Run something that should fail, and note how."""
        try:
            value = await awaitable
        except NotImplementedError as exc:
            return self.note("unsupported", str(exc))
        except Exception as exc:  # noqa: BLE001  every SDK error is an observation
            return self.note("error", {"type": type(exc).__name__, "message": str(exc),
                                       "data": getattr(exc, "data", None)})
        if isinstance(value, list):
            value = [MessageToDict(v) for v in value]
        return self.note("result", value)

    def http(self):
        async def seen(response):
            request = response.request
            self.wire.append([request.method, request.url.raw_path.decode(), response.status_code,
                              response.headers.get("content-type", ""),
                              response.headers.get("www-authenticate", "")])
        verify = ssl.create_default_context(cafile=self.args.ca) if self.args.ca else True
        client = httpx.AsyncClient(trust_env=False, timeout=self.args.timeout, verify=verify,
                                   event_hooks={"response": [seen]})
        self.closing.append(client.aclose)
        return client

    def channel(self, target):
        for scheme in ("grpcs://", "grpc://", "https://", "http://"):
            target = target.removeprefix(scheme)
        options = [("grpc.enable_http_proxy", 0), ("grpc.max_receive_message_length", 64 << 20),
                   ("grpc.use_local_subchannel_pool", 1)]
        watch = [WireLog(self.wire)]
        if self.args.ca:
            with open(self.args.ca, "rb") as ca:
                creds = grpc.ssl_channel_credentials(ca.read())
            return grpc.aio.secure_channel(target.rstrip("/"), creds, options=options, interceptors=watch)
        return grpc.aio.insecure_channel(target.rstrip("/"), options=options, interceptors=watch)

    async def client(self, streaming=True, push=None):
        http = self.http()
        if self.card is None:
            self.card = await A2ACardResolver(http, self.args.url).get_agent_card()
        card = type(self.card)()
        card.CopyFrom(self.card)
        binding, wanted = BINDING[self.args.binding], self.args.protocol
        mine = [i for i in card.supported_interfaces if i.protocol_binding == binding
                and (not wanted or (i.protocol_version or "1.0").startswith(wanted))]
        if not mine:
            raise SystemExit(f"the card has no {binding} interface of protocol {wanted or 'any'}")
        if self.args.pin:
            mine[0].url = self.args.grpc if binding == "GRPC" else self.args.url.rstrip("/") + (
                self.args.rpc_path if binding == "JSONRPC" else self.args.rest_prefix)
        chosen, self.legacy = [mine[0]], mine[0].protocol_version.startswith("0.")
        del card.supported_interfaces[:]
        card.supported_interfaces.extend(chosen)
        config = ClientConfig(streaming=streaming, httpx_client=http, grpc_channel_factory=self.channel,
                              supported_protocol_bindings=[binding], push_notification_config=push)
        made = ClientFactory(config).create(card)
        self.closing.append(made.close)
        return made

    def call(self, token=None, **headers):
        """Call context: bearer token and extra headers (or metadata)."""
        token = self.args.token if token is None else token
        params = {k.replace("_", "-"): v for k, v in headers.items()}
        if token:
            params["Authorization"] = f"Bearer {token}"
        return ClientCallContext(service_parameters=params, timeout=self.args.timeout)

    async def send(self, client, text, note=True, parts=None, call=None, **fields):
        """Send a message; returns every event, noted as it comes."""
        config = fields.pop("config", None)
        request = SendMessageRequest(message=Message(
            role=Role.ROLE_USER, message_id=str(uuid.uuid4()), parts=parts or [Part(text=text)], **fields))
        if config is not None:
            request.configuration.CopyFrom(config)
        events = []
        async for event in client.send_message(request, context=call or self.call()):
            events.append(event)
            if note:
                self.note("event", event)
        return events

    async def finish(self):
        for close in reversed(self.closing):
            try:
                await close()
            except Exception:  # noqa: BLE001  already closed
                pass
        if self.args.wire and self.wire:
            # A set: how often a task is polled depends on the clock.
            self.note("wire", [list(x) for x in sorted({tuple(map(str, x)) for x in self.wire})])


def task_id(events):
    for event in events:
        if event.HasField("task"):
            return event.task.id
        if event.HasField("status_update"):
            return event.status_update.task_id
    raise RuntimeError("no task among the events")


async def poll(s, client, ident):
    for _ in range(200):
        task = await client.get_task(GetTaskRequest(id=ident), context=s.call())
        if task.status.state in ENDED:
            return task
        await asyncio.sleep(0.05)
    raise RuntimeError("the task did not end")


@op("card")
async def card_op(s):
    s.note("card", await A2ACardResolver(s.http(), s.args.url).get_agent_card())


@op("extcard")
async def extcard_op(s):
    client = await s.client()
    s.note("card", await client.get_extended_agent_card(
        GetExtendedAgentCardRequest(), context=s.call(token=s.args.extended_token)))


@op("extcard-noauth", may_fail=True)
async def extcard_noauth_op(s):
    client = await s.client()
    await s.expect_error(client.get_extended_agent_card(GetExtendedAgentCardRequest(), context=s.call(token="wrong")))


def _sender(name, text, streaming):
    @op(name)
    async def run(s):
        await s.send(await s.client(streaming=streaming), text)


for _name, _text in {"echo": "hello \u4e16\u754c", "message": "message:hi", "task": "task:report", "fail": "fail:oops",
                     "reject": "reject:no", "big": "big:64"}.items():
    _sender(f"send-{_name}", _text, False)
for _name, _text in {"task": "task:report", "chunks": "stream:5", "slow": "stream:4:150", "message": "message:hi",
                     "fail": "fail:oops", "big": "big:256", "many": "stream:200"}.items():
    _sender(f"stream-{_name}", _text, True)


@op("stream-ping", extra=True)
async def stream_ping_op(s):
    """Quiet for longer than the server's keep-alive comment takes (15 s)."""
    await s.send(await s.client(), "slow:16500")


@op("send-auth")
async def send_auth_op(s):
    client = await s.client(streaming=False)
    events = await s.send(client, "auth:login")
    await asyncio.sleep(0.3)  # a 0.3 server answers before it has put the turn away
    await s.send(client, "here you are", task_id=task_id(events), context_id=events[0].task.context_id)


@op("send-nowait")
async def send_nowait_op(s):
    client = await s.client(streaming=False)
    events = await s.send(client, "slow:300", note=False, config=SendMessageConfiguration(return_immediately=True))
    s.note("early", {"ended": events[0].task.status.state in ENDED})
    s.note("task", await poll(s, client, task_id(events)))


@op("parts")
async def parts_op(s):
    data = ParseDict({"a": [1, 2.5, None, True, {"b": "\u00fc"}], "big": 9007199254740991}, Value())
    parts = [Part(text="parts: \u00e9\u4e16\U0001f600 \"quoted\" \\ \n\ttabbed"), Part(data=data),
             Part(raw=bytes(range(256)), media_type="application/octet-stream", filename="all.bin"),
             Part(url="https://files.example.com/a%20b?x=1&y=2", media_type="image/png", filename="a b.png")]
    parts[0].metadata.update({"note": "kept"})
    await s.send(await s.client(streaming=False), "", parts=parts)


@op("headers")
async def headers_op(s):
    call = s.call(A2A_Extensions=EXTENSION, X_Harness_Probe="probe-1")
    await s.send(await s.client(streaming=False), "headers:", call=call)
    await s.send(await s.client(streaming=True), "headers:", call=call)


@op("turns")
async def turns_op(s):
    client = await s.client(streaming=False)
    events = await s.send(client, "ask:Paint the wall")
    same = {"task_id": task_id(events), "context_id": events[0].task.context_id}
    await s.send(client, "ask:again", **same)
    await s.send(client, "blue", **same)


@op("stream-turns")
async def stream_turns_op(s):
    client = await s.client()
    events = await s.send(client, "ask:Paint the wall")
    await s.send(client, "blue", task_id=task_id(events), context_id=events[0].task.context_id)


@op("get")
async def get_op(s):
    client = await s.client(streaming=False)
    ident = task_id(await s.send(client, "task:get", note=False))
    for length in (None, 0, 1):
        request = GetTaskRequest(id=ident) if length is None else GetTaskRequest(id=ident, history_length=length)
        s.note("task", await client.get_task(request, context=s.call()))


@op("list", may_fail=True)
async def list_op(s):
    client = await s.client(streaming=False)
    context_id = str(uuid.uuid4())
    for i in range(3):
        await s.send(client, f"list {i}", note=False, context_id=context_id)
    try:
        whole = await client.list_tasks(ListTasksRequest(context_id=context_id, include_artifacts=True), context=s.call())
        # Tasks come newest first; sort, as three can share a timestamp.
        s.note("sizes", {"page": whole.page_size, "total": whole.total_size, "tasks": len(whole.tasks)})
        for task in sorted(whole.tasks, key=lambda t: t.artifacts[0].parts[0].text):
            s.note("task", task)
        first = await client.list_tasks(ListTasksRequest(context_id=context_id, page_size=2), context=s.call())
        s.note("page", {"tasks": len(first.tasks), "more": bool(first.next_page_token), "total": first.total_size})
        rest = await client.list_tasks(ListTasksRequest(context_id=context_id, page_size=2,
                                                        page_token=first.next_page_token), context=s.call())
        s.note("page", {"tasks": len(rest.tasks), "more": bool(rest.next_page_token), "total": rest.total_size})
        none = await client.list_tasks(ListTasksRequest(context_id=context_id, status=TaskState.TASK_STATE_FAILED),
                                       context=s.call())
        s.note("page", {"tasks": len(none.tasks), "more": bool(none.next_page_token), "total": none.total_size})
    except NotImplementedError as exc:
        s.note("unsupported", str(exc))


@op("cancel")
async def cancel_op(s):
    client = await s.client(streaming=False)
    ident = task_id(await s.send(client, "slow:20000", note=False,
                                 config=SendMessageConfiguration(return_immediately=True)))
    await asyncio.sleep(0.3)
    s.note("task", await client.cancel_task(CancelTaskRequest(id=ident), context=s.call()))
    s.note("task", await client.get_task(GetTaskRequest(id=ident), context=s.call()))


@op("cancel-stream")
async def cancel_stream_op(s):
    streaming, other = await s.client(), await s.client(streaming=False)
    request = SendMessageRequest(message=Message(role=Role.ROLE_USER, message_id=str(uuid.uuid4()),
                                                 parts=[Part(text="slow:20000")]))
    cancelled = False

    async def read():
        nonlocal cancelled
        async for event in streaming.send_message(request, context=s.call()):
            s.note("event", event)
            if event.HasField("status_update") and not cancelled:
                cancelled = True
                await asyncio.sleep(0.2)
                await other.cancel_task(CancelTaskRequest(id=event.status_update.task_id), context=s.call())

    try:
        await asyncio.wait_for(read(), 5)
        s.note("stream", "ended")
    except asyncio.TimeoutError:
        s.note("stream", "still open 5 s later")


@op("subscribe")
async def subscribe_op(s):
    first, second = await s.client(), await s.client()
    mine, theirs, ident = [], [], asyncio.get_running_loop().create_future()

    async def watch():
        request = SendMessageRequest(message=Message(role=Role.ROLE_USER, message_id=str(uuid.uuid4()),
                                                     parts=[Part(text="slow:1500")]))
        async for event in first.send_message(request, context=s.call()):
            mine.append(event)
            if event.HasField("status_update") and not ident.done():
                ident.set_result(event.status_update.task_id)

    watching = asyncio.create_task(watch())
    name = await asyncio.wait_for(ident, s.args.timeout)
    await asyncio.sleep(0.3)
    async for event in second.subscribe(SubscribeToTaskRequest(id=name), context=s.call()):
        theirs.append(event)
    await watching
    for event in mine:
        s.note("event", event)
    for event in theirs:
        note_subscribed(s, event)


def note_subscribed(s, event):
    """A 0.3 server closes every tap at the final event, so a subscriber may
    or may not still get it: leave it out there."""
    if not (s.legacy and event.HasField("status_update") and event.status_update.status.state in ENDED):
        s.note("subscribed", event)


@op("drop-resume")
async def drop_resume_op(s):
    """Leave a stream half way, then pick the task up again."""
    first, second = await s.client(), await s.client()
    request = SendMessageRequest(message=Message(role=Role.ROLE_USER, message_id=str(uuid.uuid4()),
                                                 parts=[Part(text="slow:1500")]))
    stream, name = first.send_message(request, context=s.call()), None
    async for event in stream:
        if event.HasField("status_update"):
            name = event.status_update.task_id
            break
    await stream.aclose()
    await first.close()
    await asyncio.sleep(0.2)
    async for event in second.subscribe(SubscribeToTaskRequest(id=name), context=s.call()):
        note_subscribed(s, event)
    s.note("task", await poll(s, second, name))


def push_config(url, ident="", **fields):
    return TaskPushNotificationConfig(
        id=ident, url=url, token="fake-push-token",
        authentication=AuthenticationInfo(scheme="Bearer", credentials="fake-push-credentials"), **fields)


@op("push-crud")
async def push_crud_op(s):
    client = await s.client(streaming=False)
    ident = task_id(await s.send(client, "push crud", note=False))
    for name in ("cfg-1", "cfg-2"):
        await s.expect_error(client.create_task_push_notification_config(
            push_config(f"http://127.0.0.1:9/{name}", name, task_id=ident), context=s.call()))
    await s.expect_error(client.get_task_push_notification_config(
        GetTaskPushNotificationConfigRequest(task_id=ident, id="cfg-1"), context=s.call()))
    await s.expect_error(client.list_task_push_notification_configs(
        ListTaskPushNotificationConfigsRequest(task_id=ident), context=s.call()))
    await s.expect_error(client.delete_task_push_notification_config(
        DeleteTaskPushNotificationConfigRequest(task_id=ident, id="cfg-1"), context=s.call()))
    await s.expect_error(client.get_task_push_notification_config(
        GetTaskPushNotificationConfigRequest(task_id=ident, id="cfg-1"), context=s.call()))
    await s.expect_error(client.list_task_push_notification_configs(
        ListTaskPushNotificationConfigsRequest(task_id=ident), context=s.call()))


def terminal_seen(seen):
    return any(word in str(item["body"]) for item in seen for word in ("COMPLETED", "'completed'"))


@op("push-recv")
async def push_recv_op(s):
    async with Webhook() as hook:
        client = await s.client(streaming=False)
        await s.send(client, "task:push", config=SendMessageConfiguration(
            task_push_notification_config=push_config(hook.url, "cfg-1")))
        await hook.wait(terminal_seen)
        for item in hook.seen:
            s.note("push", item)
        if s.args.dump_push:
            with open(s.args.dump_push, "ab") as out:
                for raw in hook.raw:
                    out.write(len(raw).to_bytes(4, "big") + raw)


@op("err-get")
async def err_get_op(s):
    await s.expect_error((await s.client()).get_task(GetTaskRequest(id=NO_TASK), context=s.call()))


@op("err-cancel-unknown")
async def err_cancel_unknown_op(s):
    await s.expect_error((await s.client()).cancel_task(CancelTaskRequest(id=NO_TASK), context=s.call()))


@op("err-cancel-done")
async def err_cancel_done_op(s):
    client = await s.client(streaming=False)
    ident = task_id(await s.send(client, "done", note=False))
    await s.expect_error(client.cancel_task(CancelTaskRequest(id=ident), context=s.call()))


@op("err-send-unknown")
async def err_send_unknown_op(s):
    await s.expect_error(s.send(await s.client(streaming=False), "who?", task_id=NO_TASK))
    await s.expect_error(s.send(await s.client(streaming=True), "who?", task_id=NO_TASK))


@op("err-send-done")
async def err_send_done_op(s):
    client = await s.client(streaming=False)
    events = await s.send(client, "done", note=False)
    await s.expect_error(s.send(client, "more", task_id=task_id(events), context_id=events[0].task.context_id))


async def _drain(s, stream):
    async for event in stream:
        s.note("event", event)


@op("err-subscribe")
async def err_subscribe_op(s):
    client = await s.client()
    await s.expect_error(_drain(s, client.subscribe(SubscribeToTaskRequest(id=NO_TASK), context=s.call())))
    ident = task_id(await s.send(client, "done", note=False))
    await s.expect_error(_drain(s, client.subscribe(SubscribeToTaskRequest(id=ident), context=s.call())))


@op("err-push")
async def err_push_op(s):
    client = await s.client(streaming=False)
    await s.expect_error(client.create_task_push_notification_config(
        push_config("http://127.0.0.1:9/x", "cfg-1", task_id=NO_TASK), context=s.call()))
    await s.expect_error(client.get_task_push_notification_config(
        GetTaskPushNotificationConfigRequest(task_id=NO_TASK, id="cfg-1"), context=s.call()))


@op("err-empty")
async def err_empty_op(s):
    """A message without parts: invalid parameters."""
    client = await s.client(streaming=False)
    request = SendMessageRequest(message=Message(role=Role.ROLE_USER, message_id="no-parts"))

    async def run():
        async for event in client.send_message(request, context=s.call()):
            s.note("event", event)
    await s.expect_error(run())


@op("crash")
async def crash_op(s):
    await s.expect_error(s.send(await s.client(streaming=False), "crash:now"))


@op("stream-crash")
async def stream_crash_op(s):
    await s.expect_error(s.send(await s.client(), "crash:now"))


@op("noauth")
async def noauth_op(s):
    """A wrong token: refused when the agent wants one, ignored when not."""
    await s.expect_error(s.send(await s.client(streaming=False), "hello", call=s.call(token="wrong")))
    await s.expect_error(s.send(await s.client(streaming=True), "hello", call=s.call(token="wrong")))


def spoken(name):
    """`say=TEXT` and `stream=TEXT`: one message, and whatever comes of it is noted."""
    verb, _, text = name.partition("=")
    if verb not in ("say", "stream") or not text:
        return None

    async def run(s):
        try:
            await s.send(await s.client(streaming=verb == "stream"), text)
        except Exception as exc:  # noqa: BLE001  every SDK error is an observation
            s.note("error", {"type": type(exc).__name__, "message": str(exc)})
    return run, True


async def run(args):
    for name in args.ops:
        if args.step:  # the recorder says when to go on
            say({"step": name})
            await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
        func, may_fail = OPS.get(name) or spoken(name)
        session = Session(args, name, may_fail)
        try:
            await asyncio.wait_for(func(session), args.timeout * 3)
        except Exception as exc:  # noqa: BLE001  an observation like any other
            session.error(exc)
        finally:
            await session.finish()
    if args.step:
        say({"step": ""})


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--url", required=True, help="base URL: the card is at URL/.well-known/agent-card.json")
    p.add_argument("--grpc", default="", help="host:port for --pin with the gRPC binding")
    p.add_argument("--binding", choices=BINDING, default="jsonrpc")
    p.add_argument("--protocol", default="", help="1.0 or 0.3: which interfaces of the card to use")
    p.add_argument("--pin", action="store_true", help="ignore the URLs on the card")
    p.add_argument("--rpc-path", default="/")
    p.add_argument("--rest-prefix", default="")
    p.add_argument("--token", default="")
    p.add_argument("--extended-token", default="fake-extended-token")
    p.add_argument("--ca", help="PEM file to trust, for TLS")
    p.add_argument("--ops", default="all", help="comma-separated, or all; `list-ops` prints them")
    p.add_argument("--timeout", type=float, default=20.0)
    p.add_argument("--wire", action="store_true", help="note HTTP and gRPC statuses too")
    p.add_argument("--dump-push", help=argparse.SUPPRESS)
    p.add_argument("--step", action="store_true", help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.ops == "list-ops":
        print("\n".join(OPS))
        return
    args.ops = [o for o in OPS if o not in EXTRA] if args.ops == "all" else args.ops.split(",")
    unknown = [o for o in args.ops if o not in OPS and not spoken(o)]
    if unknown:
        sys.exit(f"unknown operation: {', '.join(unknown)}")
    import logging
    logging.disable(logging.CRITICAL)
    asyncio.run(run(args))


if __name__ == "__main__":
    main()
