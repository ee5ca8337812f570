// Small things shared by the JavaScript clients.

import { appendFileSync } from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';

const home = process.env.A2A_HARNESS_DIR || join(homedir(), '.cache/a2a-harness');
// The SDKs are installed outside the repository, in the folder of setup.sh.
export const require = createRequire(join(home, 'js', 'package.json'));
export const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

export function arguments_() {
  return parseArgs({
    options: {
      url: { type: 'string' }, grpc: { type: 'string', default: '' },
      binding: { type: 'string', default: 'jsonrpc' }, protocol: { type: 'string', default: '' },
      pin: { type: 'boolean', default: false }, 'rpc-path': { type: 'string', default: '/' },
      'rest-prefix': { type: 'string', default: '' }, token: { type: 'string', default: '' },
      'extended-token': { type: 'string', default: 'fake-extended-token' }, ca: { type: 'string' },
      ops: { type: 'string', default: 'all' }, timeout: { type: 'string', default: '20' },
      wire: { type: 'boolean', default: false }, 'dump-push': { type: 'string' }, step: { type: 'boolean', default: false },
    },
  }).values;
}

// --- what differs from run to run becomes a placeholder (see common.py) ---
export class Normaliser {
  ids = new Map();
  text(value) {
    return value
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, (found) => {
        const key = found.toLowerCase();
        if (!this.ids.has(key)) this.ids.set(key, `<id-${this.ids.size + 1}>`);
        return this.ids.get(key);
      })
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g, '<time>')
      .replace(/(?:127\.0\.0\.1|localhost|\[::1\]):\d+/g, '<addr>')
      .replace(/(?<=pageToken=)[^&\s]+/g, '<page>');
  }
  value(v) {
    if (typeof v === 'string') return this.text(v);
    if (Array.isArray(v)) return v.map((x) => this.value(x));
    if (v && typeof v === 'object') {
      const out = {};
      for (const key of Object.keys(v).sort()) if (v[key] !== undefined) out[this.text(key)] = this.value(v[key]);
      return out;
    }
    return v;
  }
}

function sorted(v) {
  if (Array.isArray(v)) return v.map(sorted);
  if (v && typeof v === 'object') return Object.fromEntries(Object.keys(v).sort().map((k) => [k, sorted(v[k])]));
  return v;
}
export const say = (line) => process.stdout.write(JSON.stringify(sorted(line)) + '\n');
export const plain = (v) => (v === undefined ? null : JSON.parse(JSON.stringify(v)));

// A push-notification receiver, open while `during` runs and until the task ends.
export async function webhook(dump, during) {
  const seen = [];
  const server = http.createServer((request, response) => {
    const chunks = [];
    request.on('data', (c) => chunks.push(c));
    request.on('end', () => {
      const keep = ['content-type', 'x-a2a-notification-token', 'authorization', 'a2a-version'];
      const body = Buffer.concat(chunks);
      if (seen.length < 200) {
        seen.push({ method: request.method, path: request.url, body: JSON.parse(body.toString() || 'null'),
          headers: Object.fromEntries(keep.filter((k) => request.headers[k]).map((k) => [k, request.headers[k]])) });
        if (dump) {
          let head = `${request.method} ${request.url} HTTP/1.1\r\n`;
          for (let i = 0; i < request.rawHeaders.length; i += 2) head += `${request.rawHeaders[i]}: ${request.rawHeaders[i + 1]}\r\n`;
          const raw = Buffer.concat([Buffer.from(`${head}\r\n`), body]);
          const size = Buffer.alloc(4);
          size.writeUInt32BE(raw.length);
          appendFileSync(dump, Buffer.concat([size, raw]));
        }
      }
      response.writeHead(200, { 'content-length': 0 }).end();
    });
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  try {
    await during(`http://127.0.0.1:${server.address().port}/hook`);
    const over = () => seen.some((x) => /COMPLETED|"completed"/.test(JSON.stringify(x.body)));
    for (let i = 0; i < 200 && !over(); i += 1) await sleep(50);
    await sleep(300);
  } finally {
    server.closeAllConnections();
    server.close();
  }
  return seen;
}

// `say=TEXT` and `stream=TEXT`: one message, and whatever comes of it is noted.
function spoken(name) {
  const [, verb, text] = /^(say|stream)=(.+)$/s.exec(name) ?? [];
  if (!verb) return undefined;
  const run = async (s) => {
    try {
      const client = await s.client();
      await (verb === 'say' ? s.send(client, text) : s.stream(client, text));
    } catch (exc) {
      s.note('error', { type: exc.constructor.name, message: String(exc.message), code: exc.code ?? null });
    }
  };
  return { run, mayFail: true };
}

// Runs the operations asked for, one after the other.
export async function runAll(args, OPS, BINDING, session_, timeout) {
  if (args.ops === 'list-ops') {
    console.log(Object.keys(OPS).join('\n'));
    process.exit(0);
  }
  const names = args.ops === 'all' ? Object.keys(OPS) : args.ops.split(',');
  const unknown = names.filter((n) => !OPS[n] && !spoken(n));
  if (!args.url || !BINDING[args.binding] || unknown.length) {
    console.error(unknown.length ? `unknown operation: ${unknown.join(', ')}` : 'needs --url, and --binding jsonrpc, rest or grpc');
    process.exit(2);
  }
  console.error = () => {};  // the SDK logs parse errors there
  const input = args.step ? createInterface({ input: process.stdin })[Symbol.asyncIterator]() : undefined;
  for (const name of names) {
    if (input) {  // the recorder says when to go on
      say({ step: name });
      await input.next();
    }
    const { run, mayFail } = OPS[name] ?? spoken(name);
    const session = session_(name, mayFail);
    try {
      await Promise.race([run(session), sleep(timeout * 3).then(() => { throw new Error('timed out'); })]);
    } catch (exc) {
      session.error(exc);
    }
    session.finish();
  }
  if (input) say({ step: '' });
  process.exit(0);
}
