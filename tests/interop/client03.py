#!/usr/bin/env python3
"""Scripted client on the official Python SDK 0.3.x (a2a-sdk 0.3.x).

The 0.3 twin of client.py: the same flags, the same names of operations where
0.3 has them, one normalised JSON line per observation.
"""

import argparse
import asyncio
import ssl
import sys
import uuid

import grpc
import httpx

from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.middleware import ClientCallContext
from a2a.types import (
    AgentInterface,
    DataPart,
    FilePart,
    FileWithBytes,
    FileWithUri,
    GetTaskPushNotificationConfigParams,
    Message,
    MessageSendConfiguration,
    Part,
    PushNotificationAuthenticationInfo,
    PushNotificationConfig,
    Role,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TextPart,
)

from common import Normaliser, say
from webhook import Webhook

BINDING = {"jsonrpc": "JSONRPC", "rest": "HTTP+JSON", "grpc": "GRPC"}
ENDED = {"completed", "failed", "canceled", "rejected"}
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


def plain(value):
    """SDK objects as JSON."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value


def with_metadata(session, details):
    """The 0.3 SDK has no way to send gRPC metadata; the interceptors add it."""
    metadata = grpc.aio.Metadata(*(details.metadata or ()))
    for key, value in session.metadata.items():
        metadata.add(key.lower(), value)
    return details._replace(metadata=metadata)


class UnaryMetadata(grpc.aio.UnaryUnaryClientInterceptor):
    def __init__(self, session):
        self.session = session

    async def intercept_unary_unary(self, continuation, details, request):
        call = await continuation(with_metadata(self.session, details), request)
        method = details.method.decode() if isinstance(details.method, bytes) else details.method
        trailing = sorted({k for k, _ in (await call.trailing_metadata() or ())})
        self.session.wire.append([method, (await call.code()).name, trailing])
        return call


class StreamMetadata(grpc.aio.UnaryStreamClientInterceptor):
    def __init__(self, session):
        self.session = session

    async def intercept_unary_stream(self, continuation, details, request):
        return await continuation(with_metadata(self.session, details), request)


class Session:
    """One operation: its own connections, its own placeholders."""

    def __init__(self, args, name, may_fail):
        self.args, self.name, self.may_fail = args, name, may_fail
        self.norm, self.count, self.wire, self.closing = Normaliser(), 0, [], []
        self.card, self.metadata = None, {}

    def note(self, kind, value):
        self.count += 1
        say({"op": self.name, "n": self.count, "kind": kind, "value": self.norm(plain(value))})

    def error(self, exc):
        self.count += 1
        line = {"op": self.name, "n": self.count, "kind": "error", "type": type(exc).__name__, "message": self.norm(describe(exc))}
        if not self.may_fail:
            line["unexpected"] = True
        say(line)

    async def expect_error(self, awaitable):
        """Run something that should fail, and note how."""
        try:
            value = await awaitable
        except Exception as exc:  # noqa: BLE001  every SDK error is an observation
            return self.note("error", {"type": type(exc).__name__, "message": describe(exc)})
        return self.note("result", value)

    def http(self):
        async def seen(response):
            request = response.request
            self.wire.append([request.method, request.url.raw_path.decode(), response.status_code,
                              response.headers.get("content-type", ""),
                              response.headers.get("www-authenticate", ""),
                              response.headers.get("x-a2a-extensions", "")])
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
        # grpc.aio takes an interceptor for one kind of call only: two objects.
        watch = [UnaryMetadata(self), StreamMetadata(self)]
        if self.args.ca:
            with open(self.args.ca, "rb") as ca:
                creds = grpc.ssl_channel_credentials(ca.read())
            return grpc.aio.secure_channel(target.rstrip("/"), creds, options=options, interceptors=watch)
        return grpc.aio.insecure_channel(target.rstrip("/"), options=options, interceptors=watch)

    async def client(self, streaming=True, push=None):
        http = self.http()
        if self.card is None:
            self.card = await A2ACardResolver(http, self.args.url).get_agent_card()
        card, binding = self.card.model_copy(deep=True), BINDING[self.args.binding]
        offered = {(card.preferred_transport or "JSONRPC"): card.url}
        offered.update({str(getattr(i.transport, "value", i.transport)): i.url for i in card.additional_interfaces or ()})
        if binding not in offered:
            raise SystemExit(f"the card has no {binding} interface")
        url = offered[binding]
        if self.args.pin:
            url = self.args.grpc if binding == "GRPC" else self.args.url.rstrip("/") + (
                self.args.rpc_path if binding == "JSONRPC" else self.args.rest_prefix)
        card.preferred_transport, card.url, card.additional_interfaces = binding, url, [
            AgentInterface(transport=binding, url=url)]
        config = ClientConfig(streaming=streaming, httpx_client=http, grpc_channel_factory=self.channel,
                              supported_transports=[binding], push_notification_configs=[push] if push else [])
        made = ClientFactory(config).create(card)
        self.closing.append(made.close)
        return made

    def call(self, token=None, **headers):
        """Call context: bearer token and extra headers (or metadata)."""
        token = self.args.token if token is None else token
        params = {k.replace("_", "-"): v for k, v in headers.items()}
        if token:
            params["Authorization"] = f"Bearer {token}"
        self.metadata = params
        return ClientCallContext(state={"http_kwargs": {"headers": params}})

    async def send(self, client, text, note=True, parts=None, call=None, config=None, extensions=None, **fields):
        """Send a message; returns every event, noted as it comes."""
        message = Message(role=Role.user, message_id=str(uuid.uuid4()),
                          parts=parts or [Part(root=TextPart(text=text))], **fields)
        events = []
        async for event in client.send_message(message, configuration=config, context=call or self.call(),
                                               extensions=extensions):
            # An event is a Message, or the task so far with the update that changed it.
            update = plain(event[1] if isinstance(event, tuple) and event[1] is not None
                           else event[0] if isinstance(event, tuple) else event)
            events.append(event)
            if note:
                self.note("event", update)
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


def describe(exc):
    if isinstance(exc, grpc.aio.AioRpcError):
        return f"{exc.code().name}: {exc.details()}"
    if isinstance(exc, httpx.HTTPError):
        return type(exc).__name__
    return str(exc)


def ids(events):
    task = events[0][0]
    return {"task_id": task.id, "context_id": task.context_id}


def task_id(events):
    return events[0][0].id


async def poll(s, client, ident):
    for _ in range(200):
        task = await client.get_task(TaskQueryParams(id=ident), context=s.call())
        if task.status.state.value in ENDED:
            return task
        await asyncio.sleep(0.05)
    raise RuntimeError("the task did not end")


@op("card")
async def card_op(s):
    s.note("card", await A2ACardResolver(s.http(), s.args.url).get_agent_card())


@op("extcard")
async def extcard_op(s):
    s.note("card", await (await s.client()).get_card(context=s.call(token=s.args.extended_token)))


@op("extcard-noauth", may_fail=True)
async def extcard_noauth_op(s):
    await s.expect_error((await s.client()).get_card(context=s.call(token="wrong")))


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
    await s.send(client, "here you are", **ids(events))


@op("send-nowait")
async def send_nowait_op(s):
    client = await s.client(streaming=False)
    events = await s.send(client, "slow:300", note=False, config=MessageSendConfiguration(blocking=False))
    s.note("early", {"ended": events[0][0].status.state.value in ENDED})
    s.note("task", await poll(s, client, task_id(events)))


@op("parts")
async def parts_op(s):
    import base64
    parts = [Part(root=TextPart(text="parts: \u00e9\u4e16\U0001f600 \"quoted\" \\ \n\ttabbed", metadata={"note": "kept"})),
             Part(root=DataPart(data={"a": [1, 2.5, None, True, {"b": "\u00fc"}], "big": 9007199254740991})),
             Part(root=FilePart(file=FileWithBytes(bytes=base64.b64encode(bytes(range(256))).decode(),
                                                   mime_type="application/octet-stream", name="all.bin"))),
             Part(root=FilePart(file=FileWithUri(uri="https://files.example.com/a%20b?x=1&y=2",
                                                 mime_type="image/png", name="a b.png")))]
    await s.send(await s.client(streaming=False), "", parts=parts)


@op("headers")
async def headers_op(s):
    for streaming in (False, True):
        await s.send(await s.client(streaming=streaming), "headers:", call=s.call(X_Harness_Probe="probe-1"),
                     extensions=[EXTENSION])


@op("turns")
async def turns_op(s):
    client = await s.client(streaming=False)
    same = ids(await s.send(client, "ask:Paint the wall"))
    await s.send(client, "ask:again", **same)
    await s.send(client, "blue", **same)


@op("stream-turns")
async def stream_turns_op(s):
    client = await s.client()
    same = ids(await s.send(client, "ask:Paint the wall"))
    await s.send(client, "blue", **same)


@op("get")
async def get_op(s):
    client = await s.client(streaming=False)
    ident = task_id(await s.send(client, "task:get", note=False))
    for length in (None, 0, 1):
        s.note("task", await client.get_task(TaskQueryParams(id=ident, history_length=length), context=s.call()))


@op("cancel")
async def cancel_op(s):
    client = await s.client(streaming=False)
    ident = task_id(await s.send(client, "slow:20000", note=False, config=MessageSendConfiguration(blocking=False)))
    await asyncio.sleep(0.3)
    s.note("task", await client.cancel_task(TaskIdParams(id=ident), context=s.call()))
    s.note("task", await client.get_task(TaskQueryParams(id=ident), context=s.call()))


def _ask(text):
    return Message(role=Role.user, message_id=str(uuid.uuid4()), parts=[Part(root=TextPart(text=text))])


@op("cancel-stream")
async def cancel_stream_op(s):
    streaming, other = await s.client(), await s.client(streaming=False)
    cancelled = False

    async def read():
        nonlocal cancelled
        async for task, update in streaming.send_message(_ask("slow:20000"), context=s.call()):
            s.note("event", update or task)
            if update is not None and not cancelled:
                cancelled = True
                await asyncio.sleep(0.2)
                await other.cancel_task(TaskIdParams(id=task.id), context=s.call())

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
        async for task, update in first.send_message(_ask("slow:1500"), context=s.call()):
            mine.append(plain(update or task))
            if update is not None and not ident.done():
                ident.set_result(task.id)

    watching = asyncio.create_task(watch())
    name = await asyncio.wait_for(ident, s.args.timeout)
    await asyncio.sleep(0.3)
    async for task, update in second.resubscribe(TaskIdParams(id=name), context=s.call()):
        theirs.append(plain(update or task))
    await watching
    for event in mine:
        s.note("event", event)
    for event in theirs:
        note_subscribed(s, event)


def note_subscribed(s, event):
    """The 0.3 server closes every tap at the final event, so a subscriber
    may or may not still get it: leave it out."""
    if not event.get("final"):
        s.note("subscribed", event)


@op("drop-resume")
async def drop_resume_op(s):
    """Leave a stream half way, then pick the task up again."""
    first, second = await s.client(), await s.client()
    stream, name = first.send_message(_ask("slow:1500"), context=s.call()), None
    async for task, update in stream:
        if update is not None:
            name = task.id
            break
    await stream.aclose()
    await first.close()
    await asyncio.sleep(0.2)
    async for task, update in second.resubscribe(TaskIdParams(id=name), context=s.call()):
        note_subscribed(s, plain(update or task))
    s.note("task", await poll(s, second, name))


def push_config(url, ident):
    return PushNotificationConfig(id=ident, url=url, token="fake-push-token", authentication=(
        PushNotificationAuthenticationInfo(schemes=["Bearer"], credentials="fake-push-credentials")))


@op("push-crud")
async def push_crud_op(s):
    client = await s.client(streaming=False)
    ident = task_id(await s.send(client, "push crud", note=False))
    for name in ("cfg-1", "cfg-2"):
        await s.expect_error(client.set_task_callback(TaskPushNotificationConfig(
            task_id=ident, push_notification_config=push_config(f"http://127.0.0.1:9/{name}", name)), context=s.call()))
    await s.expect_error(client.get_task_callback(
        GetTaskPushNotificationConfigParams(id=ident, push_notification_config_id="cfg-1"), context=s.call()))


def terminal_seen(seen):
    return any(word in str(item["body"]) for item in seen for word in ("COMPLETED", "'completed'"))


@op("push-recv")
async def push_recv_op(s):
    async with Webhook() as hook:
        # By the client's configuration: with one given for the call alone the
        # 0.3 SDK fails on HTTP+JSON and gRPC ('dict' object has no attribute ...).
        client = await s.client(streaming=True, push=push_config(hook.url, "cfg-1"))
        await s.send(client, "task:push")
        await hook.wait(terminal_seen)
        for item in hook.seen:
            s.note("push", item)
        if s.args.dump_push:
            with open(s.args.dump_push, "ab") as out:
                for raw in hook.raw:
                    out.write(len(raw).to_bytes(4, "big") + raw)


@op("err-get")
async def err_get_op(s):
    await s.expect_error((await s.client()).get_task(TaskQueryParams(id=NO_TASK), context=s.call()))


@op("err-cancel-unknown")
async def err_cancel_unknown_op(s):
    await s.expect_error((await s.client()).cancel_task(TaskIdParams(id=NO_TASK), context=s.call()))


@op("err-cancel-done")
async def err_cancel_done_op(s):
    client = await s.client(streaming=False)
    ident = task_id(await s.send(client, "done", note=False))
    await s.expect_error(client.cancel_task(TaskIdParams(id=ident), context=s.call()))


@op("err-send-unknown")
async def err_send_unknown_op(s):
    await s.expect_error(s.send(await s.client(streaming=False), "who?", task_id=NO_TASK))
    await s.expect_error(s.send(await s.client(streaming=True), "who?", task_id=NO_TASK))


@op("err-send-done")
async def err_send_done_op(s):
    client = await s.client(streaming=False)
    same = ids(await s.send(client, "done", note=False))
    await s.expect_error(s.send(client, "more", **same))


async def _drain(s, stream):
    async for task, update in stream:
        s.note("event", update or task)


@op("err-subscribe")
async def err_subscribe_op(s):
    client = await s.client()
    await s.expect_error(_drain(s, client.resubscribe(TaskIdParams(id=NO_TASK), context=s.call())))
    ident = task_id(await s.send(client, "done", note=False))
    await s.expect_error(_drain(s, client.resubscribe(TaskIdParams(id=ident), context=s.call())))


@op("err-push")
async def err_push_op(s):
    client = await s.client(streaming=False)
    await s.expect_error(client.set_task_callback(TaskPushNotificationConfig(
        task_id=NO_TASK, push_notification_config=push_config("http://127.0.0.1:9/x", "cfg-1")), context=s.call()))
    await s.expect_error(client.get_task_callback(
        GetTaskPushNotificationConfigParams(id=NO_TASK, push_notification_config_id="cfg-1"), context=s.call()))


@op("crash")
async def crash_op(s):
    await s.expect_error(s.send(await s.client(streaming=False), "crash:now"))


@op("stream-crash")
async def stream_crash_op(s):
    await s.expect_error(s.send(await s.client(), "crash:now"))


@op("noauth")
async def noauth_op(s):
    """A wrong token: refused when the agent wants one, ignored when not."""
    for streaming in (False, True):
        client = await s.client(streaming=streaming)
        await s.expect_error(s.send(client, "hello", call=s.call(token="wrong")))


def spoken(name):
    """`say=TEXT` and `stream=TEXT`: one message, and whatever comes of it is noted."""
    verb, _, text = name.partition("=")
    if verb not in ("say", "stream") or not text:
        return None

    async def run(s):
        try:
            await s.send(await s.client(streaming=verb == "stream"), text)
        except Exception as exc:  # noqa: BLE001  every SDK error is an observation
            s.note("error", {"type": type(exc).__name__, "message": describe(exc)})
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
    p.add_argument("--protocol", default="", help="taken for symmetry with client.py; only 0.3 is spoken")
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
