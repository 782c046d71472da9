import { Database } from 'bun:sqlite';
import { type Static, Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { ChatRequest } from '../src/core/api/chat-request.ts';

/**
 * The flat gateway shows the minimum cost of Signalbox's promises about money in Bun. In the flat gateway, a single function admits a chat,
 * holds its worst-case cost, calls the upstream and settles. The flat gateway calls with `fetch` as the bare proxy does, so that the
 * promises are the only difference between the two.
 *
 * - The key is checked before the body is read. The body is checked with Signalbox's own schema.
 * - The hold is on the disk before the upstream is called. A request is refused if its hold does not fit in the budget.
 * - The charge and the record are committed before the answer ends. A killed process loses neither the charge nor the record; a power cut
 * loses at most the last 5 ms.
 * - A refused call costs nothing. An answer that began and reported no usage costs the hold.
 *
 * The arguments of the flat gateway are the upstream's base URL, the file of the database and the budget of `API_KEY`, in microcredits. The
 * flat gateway prints its port.
 */
const [upstream, file, budget] = process.argv.slice(2);
const key = process.env.API_KEY;
if (!upstream || !file || !budget || !key)
  throw new Error('give the upstream’s base URL, a file, a budget, and API_KEY');

const BODY_BYTES_MAX = 10 * 1024 * 1024;
/** The models that the flat gateway serves, with microcredits per token and the maximum output tokens. */
const MODELS = new Map([['bench-model-3', { input: 400, output: 1_600, outputMax: 8_192 }]]);

// The database

const db = new Database(file, { create: true, strict: true });
db.run('PRAGMA page_size = 8192');
db.run('PRAGMA journal_mode = WAL');
db.run('PRAGMA synchronous = FULL');
db.run(`
CREATE TABLE IF NOT EXISTS keys (id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, budget INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS holds (id INTEGER PRIMARY KEY, key INTEGER NOT NULL, amount INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS records (id INTEGER PRIMARY KEY, key INTEGER NOT NULL, time INTEGER NOT NULL, model TEXT NOT NULL,
  status INTEGER NOT NULL, input_tokens INTEGER, output_tokens INTEGER, cost INTEGER NOT NULL, ms REAL NOT NULL) STRICT`);
const insertHold = db.prepare('INSERT INTO holds (id, key, amount) VALUES (?, ?, ?)');
const deleteHold = db.prepare('DELETE FROM holds WHERE id = ?');
const insertRecord = db.prepare('INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)');

interface Write {
  readonly run: () => void;
  /** Whether the caller waits until the data is on the disk, and not only in the operating system. */
  readonly isSynced: boolean;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * If there are this many holds within a millisecond, a group waits until a millisecond after the previous group, because a sync is most of
 * the cost of a group.
 */
const DENSE_HOLDS = 24;
const SPACING_MS = 1;
const SYNC_DELAY_MS = 5;
const holdTimes = new Float64Array(DENSE_HOLDS).fill(Number.NEGATIVE_INFINITY);
let nextTime = 0;
let lastGroupAt = 0;
let waiting: Write[] = [];
let isGroupDue = false;
/** Whether the connection currently syncs each commit. */
let syncsCommits = true;
let isAllSynced = true;
let isSyncDue = false;
const transact = db.transaction((group: readonly Write[]) => {
  for (const { run } of group) run();
});

/** Writes with the next group. A group that contains a synced write also syncs all earlier groups. */
function commit(run: () => void, isSynced: boolean): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  waiting.push({ run, isSynced, resolve, reject });
  const pauseMs = isSynced ? pauseBeforeGroup() : 0;
  if (isGroupDue) return promise;
  isGroupDue = true;
  if (pauseMs > 0) setTimeout(writeGroup, Math.ceil(pauseMs));
  else setImmediate(writeGroup);
  return promise;
}

function pauseBeforeGroup(): number {
  const now = performance.now();
  const isDense = now - holdTimes[nextTime]! < SPACING_MS;
  holdTimes[nextTime] = now;
  nextTime = (nextTime + 1) % DENSE_HOLDS;
  return isDense ? lastGroupAt + SPACING_MS - now : 0;
}

function writeGroup(): void {
  const group = waiting;
  waiting = [];
  isGroupDue = false;
  const isSynced = group.some((write) => write.isSynced);
  try {
    if (isSynced !== syncsCommits) db.run(`PRAGMA synchronous = ${isSynced ? 'FULL' : 'NORMAL'}`);
    syncsCommits = isSynced;
    transact.immediate(group);
  } catch (error) {
    for (const { reject } of group) reject(error);
    return;
  }
  isAllSynced = isSynced;
  lastGroupAt = performance.now();
  if (!isSynced && !isSyncDue) setTimeout(syncLate, SYNC_DELAY_MS);
  isSyncDue ||= !isSynced;
  for (const { resolve } of group) resolve();
}

function syncLate(): void {
  isSyncDue = false;
  // An empty commit syncs nothing, so the commit writes a page.
  if (!isAllSynced) commit(() => db.run(`PRAGMA user_version = ${Date.now() & 0xffff}`), true).catch(logError);
}

// Keys and money

interface Account {
  readonly id: number;
  /** Microcredits. */
  readonly budget: number;
  /** Microcredits charged and held. */
  used: number;
}

const hashOf = (secret: string): string => Bun.SHA256.hash(secret, 'hex');
const Rows = TypeCompiler.Compile(
  Type.Array(Type.Object({ id: Type.Integer(), hash: Type.String(), budget: Type.Integer(), used: Type.Integer() })),
);

const upsertKey = db.prepare('INSERT INTO keys (hash, budget) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET budget = ?2');
upsertKey.run(hashOf(key), Number(budget));
/** The accounts by the hash of their key. A hold that an earlier process left open counts as spent. */
const accounts = loadAccounts();
let nextId = 1 + Math.max(lastIdOf('holds'), lastIdOf('records'));

function loadAccounts(): ReadonlyMap<string, Account> {
  const sumOf = (table: string, column: string) =>
    `(SELECT COALESCE(SUM(${column}), 0) FROM ${table} WHERE key = keys.id)`;
  const rows = db.query(`SELECT *, ${sumOf('records', 'cost')} + ${sumOf('holds', 'amount')} AS used FROM keys`).all();
  if (!Rows.Check(rows)) throw new Error(`${file} is not the database of a flat gateway`);
  return new Map(rows.map(({ hash, ...account }) => [hash, account]));
}

function lastIdOf(table: 'holds' | 'records'): number {
  return Number(db.query(`SELECT COALESCE(MAX(id), 0) FROM ${table}`).values()[0]?.[0]);
}

// A request

const chatBody = TypeCompiler.Compile(ChatRequest);
const tokens = Type.Integer({ minimum: 0 });
const Usage = Type.Object({ prompt_tokens: tokens, completion_tokens: tokens });
type Usage = Static<typeof Usage>;
const withUsage = TypeCompiler.Compile(Type.Object({ usage: Usage }));
const USAGE = /"usage"\s*:\s*\{/;
const JSON_TYPE = { 'content-type': 'application/json' };
const encoder = new TextEncoder();
const NO_USAGE: Usage = { prompt_tokens: 0, completion_tokens: 0 };

/** A request that has a hold. */
interface Call {
  readonly id: number;
  readonly account: Account;
  readonly model: string;
  readonly price: { readonly input: number; readonly output: number };
  /** Microcredits held. */
  readonly held: number;
  readonly began: number;
  isSettled: boolean;
}

async function chat(request: Request): Promise<Response> {
  const began = performance.now();
  const account = accounts.get(hashOf(request.headers.get('authorization')?.replace(/^Bearer /, '') ?? ''));
  if (!account) return refusal(401, 'invalid_api_key', 'The API key is not valid.');
  const text = await request.text();
  const body = parsed(text);
  if (!chatBody.Check(body)) {
    const { path, message } = chatBody.Errors(body).First() ?? { path: '', message: 'Expected an object' };
    return refusal(400, 'invalid_value', `${path || 'The body'}: ${message}.`);
  }
  const price = MODELS.get(body.model);
  if (!price) return refusal(404, 'model_not_found', `Use one of these models: ${[...MODELS.keys()].join(', ')}.`);
  const outputMax = Math.min(price.outputMax, body.max_completion_tokens ?? body.max_tokens ?? price.outputMax);
  // A token of text has at least one byte.
  const held = Buffer.byteLength(text) * price.input + outputMax * (body.n ?? 1) * price.output;
  const left = account.budget - account.used;
  if (held > left)
    return refusal(402, 'insufficient_budget', `It may cost ${held} microcredits, but ${left} are left.`);
  const call: Call = { id: nextId++, account, model: body.model, price, held, began, isSettled: false };
  await hold(call);
  const asksForUsage = !body.stream || body.stream_options?.include_usage === true;
  const options = { ...body.stream_options, include_usage: true };
  const answer = await callUpstream(asksForUsage ? text : JSON.stringify({ ...body, stream_options: options }));
  return answer?.ok && body.stream && answer.body ? streamed(call, answer.body) : whole(call, answer);
}

/** @returns null if the upstream cannot be reached */
const callUpstream = (body: string): Promise<Response | null> =>
  fetch(`${upstream}/chat/completions`, { method: 'POST', body, headers: JSON_TYPE }).catch(() => null);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** @throws if the hold cannot be written; no money is held in that case */
async function hold({ id, account, held }: Call): Promise<void> {
  account.used += held;
  try {
    await commit(() => insertHold.run(id, account.id, held), true);
  } catch (error) {
    account.used -= held;
    throw error;
  }
}

/**
 * Ends the hold with a charge and a record, once. Without usage, `settle` charges the hold. @throws if the charge and the record cannot be
 * written; the hold stays
 */
async function settle(call: Call, status: number, usage: Usage | null): Promise<void> {
  if (call.isSettled) return;
  call.isSettled = true;
  const { id, account, model, price, held } = call;
  const { prompt_tokens: input = null, completion_tokens: output = null } = usage ?? {};
  const cost = usage ? usage.prompt_tokens * price.input + usage.completion_tokens * price.output : held;
  const ms = performance.now() - call.began;
  const time = Date.now();
  await commit(() => {
    deleteHold.run(id);
    insertRecord.run(id, account.id, time, model, status, input, output, cost, ms);
  }, false);
  account.used += cost - held;
  count(status, (input ?? 0) + (output ?? 0), cost);
  log({ level: 'info', time, id, key: account.id, model, status, input, output, cost, ms });
}

/** @param answer null if the upstream cannot be reached */
async function whole(call: Call, answer: Response | null): Promise<Response> {
  const text = (await answer?.text().catch(() => null)) ?? null;
  const status = text === null ? 502 : (answer?.status ?? 502);
  await settle(call, status, answer?.ok ? usageIn(text ?? '') : NO_USAGE);
  if (text === null) return errorBody(502, 'upstream_failed', 'The upstream gave no whole answer.');
  return new Response(text, { status, headers: headersOf(call, 'application/json') });
}

/** Passes whole events on. The usage and everything after it are passed on only after the charge is committed. */
function streamed(call: Call, answer: ReadableStream<Uint8Array>): Response {
  const reader = answer.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  let isHeldBack = false;
  /** @returns events to pass on; null at the end of the answer */
  const nextEvents = async (): Promise<string | null> => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return null;
      rest += decoder.decode(value, { stream: true });
      const end = rest.lastIndexOf('\n\n') + 2;
      if (isHeldBack || end < 2) continue;
      const events = rest.slice(0, end);
      isHeldBack = USAGE.test(events);
      if (isHeldBack) continue;
      rest = rest.slice(end);
      return events;
    }
  };
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const events = await nextEvents();
        if (events !== null) return controller.enqueue(encoder.encode(events));
      } catch (error) {
        await settle(call, 502, usageOfEvents(rest));
        return controller.error(error);
      }
      await settle(call, 200, usageOfEvents(rest));
      if (rest) controller.enqueue(encoder.encode(rest));
      controller.close();
    },
    async cancel() {
      await Promise.all([settle(call, 499, usageOfEvents(rest)), reader.cancel()]);
    },
  });
  return new Response(body, { headers: headersOf(call, 'text/event-stream') });
}

function usageOfEvents(events: string): Usage | null {
  const line = events.split('\n').findLast((one) => one.startsWith('data:') && USAGE.test(one));
  return line ? usageIn(line.slice('data:'.length)) : null;
}

function usageIn(json: string): Usage | null {
  const body = parsed(json);
  return withUsage.Check(body) ? body.usage : null;
}

// Answers and metrics

function headersOf({ id }: Call, type: string): Record<string, string> {
  return { 'content-type': type, 'x-request-id': String(id) };
}

function errorBody(status: number, code: string, message: string): Response {
  return Response.json(
    { error: { message, type: status < 500 ? 'invalid_request_error' : 'api_error', param: null, code } },
    { status },
  );
}

function refusal(status: number, code: string, message: string): Response {
  count(status, 0, 0);
  log({ level: 'warn', time: Date.now(), status, code });
  return errorBody(status, code, message);
}

const requests = new Map<number, number>();
let tokensUsed = 0;
let charged = 0;

function count(status: number, tokens: number, cost: number): void {
  requests.set(status, (requests.get(status) ?? 0) + 1);
  tokensUsed += tokens;
  charged += cost;
}

function metrics(): Response {
  const byStatus = [...requests].map(([status, number]) => `flat_requests_total{status="${status}"} ${number}\n`);
  return new Response(
    `${byStatus.join('')}flat_tokens_total ${tokensUsed}\nflat_charged_microcredits_total ${charged}\n`,
    { headers: { 'content-type': 'text/plain; version=0.0.4' } },
  );
}

let lines = '';

/** All lines that one turn of the event loop logs are written together. */
function log(line: object): void {
  if (!lines) setImmediate(writeLines);
  lines += `${JSON.stringify(line)}\n`;
}

function writeLines(): void {
  process.stdout.write(lines);
  lines = '';
}

function logError(error: unknown): void {
  log({ level: 'error', time: Date.now(), error: String(error) });
}

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 0,
  maxRequestBodySize: BODY_BYTES_MAX,
  routes: { '/v1/chat/completions': { POST: chat }, '/metrics': metrics },
  fetch: () => refusal(404, 'not_found', 'There are POST /v1/chat/completions and GET /metrics.'),
  error(error) {
    logError(error);
    return refusal(503, 'unavailable', 'The request could not be written to the database.');
  },
});

process.stdout.write(`${server.port}\n`);
