#!/usr/bin/env node
// A small agent on the official JavaScript SDK 1.x: JSON-RPC only, with push notifications.
//
// Answers every message with a task that works and completes. Prints one JSON line when it listens, like
// agent.py, and ends by itself.
//
//   node agent.mjs --max-seconds 300

import { createServer } from 'node:http';

import { require } from './common.mjs';

const { AgentCard, TaskState } = require('@a2a-js/sdk');
const {
  AgentEvent, DefaultPushNotificationSender, DefaultRequestHandler, InMemoryPushNotificationStore, InMemoryTaskStore,
  JsonRpcTransportHandler, ServerCallContext,
} = require('@a2a-js/sdk/server');

const seconds = Number(process.argv[process.argv.indexOf('--max-seconds') + 1] || 300);

const executor = {
  async execute({ taskId, contextId, userMessage }, bus) {
    const status = (state) => ({ state, message: undefined, timestamp: undefined });
    const metadata = undefined;
    bus.publish(AgentEvent.task({
      id: taskId, contextId, status: status(TaskState.TASK_STATE_SUBMITTED), artifacts: [], history: [userMessage], metadata,
    }));
    for (const state of [TaskState.TASK_STATE_WORKING, TaskState.TASK_STATE_COMPLETED]) {
      bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(state), metadata }));
    }
    bus.finished();
  },
  async cancelTask() {},
};

async function body(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts).toString();
}

async function serve(request, response) {
  if (request.method === 'GET') {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(AgentCard.toJSON(card)));
    return;
  }
  const context = new ServerCallContext({ requestedVersion: request.headers['a2a-version'] ?? '0.3' });
  const answer = await rpc.handle(await body(request), context);
  if (!(Symbol.asyncIterator in answer)) {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(answer));
    return;
  }
  response.setHeader('content-type', 'text/event-stream');
  for await (const event of answer) response.write(`data: ${JSON.stringify(event)}\n\n`);
  response.end();
}

const server = createServer((request, response) => serve(request, response).catch((error) => response.destroy(error)));
await new Promise((done) => { server.listen(0, '127.0.0.1', done); });
const url = `http://127.0.0.1:${server.address().port}`;
const card = AgentCard.fromJSON({
  name: 'harness', description: 'a small agent', version: '1', skills: [], defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'], capabilities: { streaming: true, pushNotifications: true },
  supportedInterfaces: [{ url: `${url}/`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
});
const store = new InMemoryPushNotificationStore();
const handler = new DefaultRequestHandler(
  card, new InMemoryTaskStore(), executor, undefined, store, new DefaultPushNotificationSender(store));
const rpc = new JsonRpcTransportHandler(handler);
console.log(JSON.stringify({ http: url }));
setTimeout(() => process.exit(0), seconds * 1000);
