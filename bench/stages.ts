import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openKeys } from '../src/access/keys.ts';
import { Gate } from '../src/access/limits/gate.ts';
import { Limiter } from '../src/access/limits/limiter.ts';
import type { StreamPart } from '../src/contract/parts.ts';
import type { ProviderCall } from '../src/contract/provider.ts';
import { SCOPES } from '../src/core/caller.ts';
import type { Decision } from '../src/core/decision.ts';
import type { DecisionOutcome } from '../src/core/decision-record.ts';
import { createIds } from '../src/core/id.ts';
import { plainUsage } from '../src/core/usage.ts';
import { compileCheck } from '../src/core/validation.ts';
import { entryLine } from '../src/gateway/charge.ts';
import { decisionRecord, recordedOf } from '../src/gateway/decision-record.ts';
import { newSeed } from '../src/gateway/gateway.ts';
import { RequestContext } from '../src/gateway/request-context.ts';
import { x402Funding } from '../src/gateway/x402/funding.ts';
import { admit } from '../src/http/admission.ts';
import { checkJsonLimits } from '../src/http/body.ts';
import { type RouteRule, RouteTable } from '../src/http/routes.ts';
import { openLedger } from '../src/ledger/ledger.ts';
import { isShortage } from '../src/ledger/standing.ts';
import { isRefusal } from '../src/routing/decide.ts';
import type { Runtime } from '../src/runtime/runtime.ts';
import { openSqliteBooks } from '../src/store/sqlite/books/books.ts';
import { ledgerMigrations } from '../src/store/sqlite/books/schema.ts';
import { openSqlite } from '../src/store/sqlite/database.ts';
import { accessMigrations } from '../src/store/sqlite/keys.ts';
import { sqliteRecordLog } from '../src/store/sqlite/records/log.ts';
import { recordsMigrations } from '../src/store/sqlite/records/schema.ts';
import { CompletionWriter } from '../src/surface/openai-chat/completion.ts';
import { readChatRequest } from '../src/surface/openai-chat/reader.ts';
import { ChatRequest } from '../src/surface/openai-chat/request.ts';
import { createLog } from '../src/telemetry/log.ts';
import { openCall } from '../src/upstream/call.ts';
import { chatFacts } from '../test/support/chat-body.ts';
import type { Bench } from './gateways.ts';
import { requestBody, requestBytes, run, type Shape } from './load.ts';
import { benchRuntime } from './policy.ts';
import { cpuMicros, startProgram } from './process.ts';
import { fixed, median } from './stats.ts';

const SHAPE: Shape = { name: 'stages', stream: false, promptChars: 200 };
const ROUNDS = 3;
const CALLER = { keyId: 'bench', scopes: new Set(SCOPES), labels: {}, models: null, limits: null, budgets: [] };
const MODEL = 'bench-model-3';
const USAGE = plainUsage(50, 100);
const SECOND_MS = 1_000;

/** µs of CPU, of all threads of this process, that one piece of work takes: the median of a few rounds after one to warm up. */
async function cpuEach(count: number, work: () => unknown): Promise<number> {
  const rounds: number[] = [];
  for (let round = -1; round < ROUNDS; round++) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    if (round >= 0) rounds.push((user + system) / count);
  }
  return median(rounds);
}

const pure = (count: number, work: () => unknown): Promise<number> =>
  cpuEach(count, () => {
    for (let i = 0; i < count; i++) work();
  });

/** Does `count` pieces of asynchronous work, so many of them at once. */
async function atOnce(concurrency: number, count: number, work: () => Promise<void>): Promise<void> {
  let left = count;
  const lane = async () => {
    while (left-- > 0) await work();
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
}

/**
 * Where the CPU of a JSON request of 200 characters goes, as rows of a table. Pure stages are hot loops
 * in this process; the same work costs more amid a busy server, whose caches it shares.
 */
export async function stages(bench: Bench, quick: boolean): Promise<string[][]> {
  const count = quick ? 20_000 : 100_000;
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-stages-'));
  try {
    const runtime = benchRuntime(`http://127.0.0.1:${bench.upstream.port}/v1`);
    const rows: [string, number][] = [
      ['HTTP alone: Bun.serve, constant answer', await served([], count)],
      ['HTTP and Elysia, constant answer', await served(['elysia'], count)],
      ['admission: path, headers, key', await admission(folder, runtime, count)],
      ...(await requestStages(runtime, count)),
      ...(await ledgerStages(runtime, folder, count)),
      ...(await upstreamStages(runtime, bench.upstream.port, count / 4)),
      ...(await answerStages(runtime, count)),
    ];
    return [['stage, JSON 200 B', 'µs CPU'], ...rows.map(([name, micros]) => [name, fixed(micros)])];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function served(args: readonly string[], count: number): Promise<number> {
  const program = await startProgram([process.execPath, join(import.meta.dir, 'constant.ts'), ...args], /^(\d+)\n/);
  try {
    const bytes = requestBytes(SHAPE, program.port, 'none');
    const rounds: number[] = [];
    for (let round = -1; round < ROUNDS; round++) {
      const before = cpuMicros(program.pid);
      await run(program.port, bytes, 64, count);
      if (round >= 0) rounds.push((cpuMicros(program.pid) - before) / count);
    }
    return median(rounds);
  } finally {
    await program.stop();
  }
}

const CHAT: RouteRule = { method: 'POST', path: '/v1/chat/completions', access: 'chat', counts: true };

async function admission(folder: string, { snapshot }: Runtime, count: number): Promise<number> {
  const store = await openSqlite(join(folder, 'keys.db'), [accessMigrations]);
  const keys = await openKeys({ store, now: Date.now });
  const { key } = await keys.create({ name: 'bench', scopes: SCOPES });
  const body = requestBody(SHAPE);
  const request = new Request('http://127.0.0.1:8787/v1/chat/completions', {
    method: 'POST',
    body,
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-length': String(body.length),
      host: '127.0.0.1:8787',
    },
  });
  const rules = {
    routes: new RouteTable([CHAT]),
    authenticate: (header: string | null) => keys.authenticate(header),
    policy: () => snapshot,
    limiter: new Limiter(performance.now.bind(performance)),
    gate: new Gate(),
    funding: x402Funding(() => {
      throw new Error('nobody pays here');
    }),
  };
  const micros = await pure(count, () => {
    const context = new RequestContext(request, 1, 0, CHAT.path);
    admit(request, rules, null, context);
    context.handled(200, null);
  });
  keys.close();
  await store.close();
  return micros;
}

async function requestStages(runtime: Runtime, count: number): Promise<[string, number][]> {
  const text = requestBody(SHAPE);
  const check = compileCheck(ChatRequest);
  const parse = () => {
    checkJsonLimits(text, 30_000);
    const body = JSON.parse(text);
    check(body);
    return body;
  };
  const body: ChatRequest = parse();
  return [
    ['parse and check', await pure(count, parse)],
    ['profile and decide (12 models)', await pure(count, () => decideOn(runtime, body))],
  ];
}

const nextId = createIds(Date.now, 0);

function decideOn(runtime: Runtime, body: ChatRequest): Decision {
  const facts = chatFacts(body, CALLER, runtime.snapshot);
  const strategy = runtime.strategies.get(facts.model)!;
  const outcome = runtime.decider.decide(facts, { id: nextId(), seed: newSeed(), strategy, reason: strategy.reason });
  if (isRefusal(outcome)) throw new Error('the benchmark’s request was refused');
  return outcome;
}

function outcomeOf(): DecisionOutcome {
  const attempt = {
    model: MODEL,
    provider: 'bench',
    upstream: 'up',
    ms: 3,
    firstPartMs: 3,
    failure: null,
    endpoint: 0,
    requestId: null,
    finishReasons: ['stop'],
  };
  const figures = { estimated: false, charged: 123, saved: 45, firstPartMs: 3, totalMs: 4 };
  return { status: 'completed', error: null, attempts: [attempt], usage: USAGE, ...figures };
}

/** Its writes need no database. */
const LOG = sqliteRecordLog({ query: async () => [], commit: async () => {} });

function recordOf(runtime: Runtime, decision: Decision) {
  const more = { time: Date.now(), frame: 0, outcome: outcomeOf() };
  const recorded = recordedOf({ stream: false, routing: {} }, CALLER, runtime.snapshot);
  return [LOG.add(decisionRecord('chat', decision, recorded, runtime.snapshot, more))];
}

/** Reservation, then a turn of the event loop for the upstream, then the settlement with its record; with the disk. */
async function ledgerStages(runtime: Runtime, folder: string, count: number): Promise<[string, number][]> {
  const store = await openSqlite(join(folder, 'ledger.db'), [ledgerMigrations, recordsMigrations]);
  const ledger = await openLedger({
    books: await openSqliteBooks({ store, now: Date.now }),
    terms: runtime.snapshot,
    now: Date.now,
    onAlarm: () => {},
  });
  const body: ChatRequest = JSON.parse(requestBody(SHAPE));
  const model = runtime.snapshot.models[0]!;
  const line = entryLine(model, model.endpoints[0], { usage: USAGE, estimated: false }, 0);
  const decision = decideOn(runtime, body);
  const pay = (withRecord: boolean) => async () => {
    const id = nextId();
    const hold = await ledger.reserve({
      id,
      caller: CALLER,
      selector: 'auto',
      agentWallet: null,
      payer: null,
      amounts: [50_000],
      limit: null,
      waitMs: 0,
      expiresAt: Number.POSITIVE_INFINITY,
    });
    if (isShortage(hold)) throw new Error('no budget applies here');
    await new Promise((resolve) => setImmediate(resolve));
    hold.settle(line, () => (withRecord ? recordOf(runtime, { ...decision, id }) : []));
    await ledger.written();
  };
  const rows: [string, number][] = [];
  for (const concurrency of [64, 16, 1]) {
    const n = Math.ceil(count / (concurrency === 1 ? 25 : 5));
    for (const withRecord of [false, true]) {
      const name = `reserve and settle${withRecord ? ' with record' : ''}, ${concurrency} in flight`;
      rows.push([name, await cpuEach(n, () => atOnce(concurrency, n, pay(withRecord)))]);
    }
  }
  rows.push(['reserve and settle, 1 in flight, by the clock', await clockEach(Math.ceil(count / 25), pay(false))]);
  await store.close();
  return rows;
}

/** Median time of one piece of work after the other, in µs. */
async function clockEach(count: number, work: () => Promise<void>): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const begun = performance.now();
    await work();
    times.push((performance.now() - begun) * 1000);
  }
  return median(times);
}

async function upstreamStages(runtime: Runtime, port: number, count: number): Promise<[string, number][]> {
  const body = requestBody(SHAPE);
  const request: ChatRequest = JSON.parse(body);
  const model = runtime.snapshot.models[0]!;
  const target = runtime.targets[0]![0]!;
  const call: ProviderCall = {
    upstream: 'up',
    request: readChatRequest(request),
    extras: {},
    stream: false,
    outputCap: 400,
    model: { capabilities: [], lacks: [], acceptsTemperature: true, ttftMs: 300, outputTokensPerSecond: 100 },
  };
  const headers = { 'content-type': 'application/json' };
  const plain = async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, { method: 'POST', body, headers });
    await answer.text();
  };
  const ours = async () => {
    const opened = openCall(target, call, model.deadlines, performance.now() + 60 * SECOND_MS);
    while ((await opened.read()) !== null);
  };
  return [
    ['a bare fetch to the upstream, 64 in flight', await cpuEach(count, () => atOnce(64, count, plain))],
    ['upstream call: translate, fetch, read, 64 in flight', await cpuEach(count, () => atOnce(64, count, ours))],
  ];
}

async function answerStages(runtime: Runtime, count: number): Promise<[string, number][]> {
  const decision = decideOn(runtime, JSON.parse(requestBody(SHAPE)));
  const log = createLog({ write: () => {}, pretty: false, now: Date.now });
  const outcome = outcomeOf();
  const platform = {
    routed_model: MODEL,
    route_reason: 'auto:balanced',
    credits_consumed: 0.123,
    cost_saved_credits: 0.045,
    decision_id: 'dec_00000000000',
    policy_revision: runtime.snapshot.revision,
    estimated: false,
    dropped: [],
    attempts: [
      { model: MODEL, provider: 'openai', ms: 912, failure: null, request_id: null, finish_reasons: ['stop'] },
    ],
  };
  const parts: readonly StreamPart[] = [
    { type: 'text', choice: 0, text: 'word '.repeat(100) },
    { type: 'finish', choice: 0, reason: 'stop', raw: 'stop' },
    { type: 'usage', usage: USAGE },
  ];
  const answer = () => {
    const writer = new CompletionWriter({ decision: 0, created: 1_790_000_000, model: MODEL });
    writer.write(parts);
    return writer.end({ usage: USAGE, platform, saved: 0 });
  };
  const line = () =>
    log.info('chat', { ...platform, dropped: 0, attempts: 1, status: outcome.status, total_ms: outcome.totalMs });
  return [
    ['record, made and encoded', await pure(count, () => recordOf(runtime, decision))],
    ['log line', await pure(count, line)],
    ['answer, gathered and encoded', await pure(count, answer)],
  ];
}
