import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { useEmbeddings } from '../support/embedding-upstream.ts';
import { type Behaviour, type RecordedRequest, startFakeUpstream } from '../support/fake-upstream.ts';
import { startOwnServer } from '../support/own-server.ts';
import { UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { startPostgres } from '../support/postgres.ts';
import { residentMiB } from '../support/process.ts';
import { makeTestKey, type Signalbox, startSignalbox } from '../support/signalbox.ts';
import { effort } from './effort.ts';

/**
 * `npm run test:deep -- soak`: at the same time, an hour on SQLite and an hour on PostgreSQL with two servers. Chats, agents in three
 * dialects, streams, repeated questions and embeddings use a policy with all features, one of two providers fails for a quarter of each
 * minute, and every five minutes a server is restarted. No answer may be lost, the audit must be clean, and the memory must not grow from
 * restart to restart.
 */
const { runs: seconds, random, proved } = effort('soak', 60, 3_600);
const LIFE_MS = Math.min(300_000, (seconds * 1_000) / 4);
const CALLERS_OF_EACH_KIND = 3;
/** The longest pause of a caller between two requests, ms. The test is about duration, not load. */
const PAUSE_MS = 1_000;
const TURNS = 20;
/** The memory of the last life of a server at its end may be this much larger than of its second life. */
const GROWTH_MAX = 1.2;
const KEY = makeTestKey('soak00000001');

const embeddings = useEmbeddings('openai');
const webhook = startOwnServer(() => new Response(null));
afterAll(() => webhook.stop());

const usage = { prompt_tokens: 50, completion_tokens: 12, total_tokens: 62 };
const fine: Behaviour = { text: ['The answer ', 'is in ', 'these parts: ', 'ann@example.com.'], usage };
/** The provider `east` fails for the last quarter of each minute, in several ways. */
const FAULTS: readonly Behaviour[] = [{ status: 500 }, { status: 429 }, { cutAfter: 0 }, { raw: ['no JSON'] }];
const east = (request: RecordedRequest): Behaviour => {
  const right = west(request);
  return Date.now() % 60_000 < 45_000 ? right : { ...right, ...FAULTS[Math.floor(random() * FAULTS.length)]! };
};
/** The model `judge` answers the questions of a guard. The cache stores no answer with an address, because a guard masks it. */
const west = ({ body }: RecordedRequest): Behaviour => {
  if (body.model === 'judge') return { text: ['safe'], usage };
  return JSON.stringify(body.messages).includes('Question') ? { text: ['The Nile.'], usage } : fine;
};

const model = (id: string, quality: number, price: number, more = '') => `
  ${id}:
    spread: weighted
    endpoints: [{ provider: east, upstream: ${id}, weight: 70 }, { provider: west, upstream: ${id}, weight: 30 }]
    price: { input: ${price}, output: ${4 * price}, as_of: 2026-11-01, basis: own }
    context_window: 128000
    max_output: 1024
    capabilities: [tools, json_schema]
    latency: { ttft_ms: 20, output_tokens_per_second: 500, basis: guessed }
    quality: { default: ${quality}, basis: guessed }
${more}`;

const policyOf = (eastUrl: string, westUrl: string) => `version: 1
providers:
  east: { adapter: openai-compatible, base_url: "${eastUrl}", api_keys_env: [TEST_UPSTREAM_KEY, SECOND_KEY] }
  west: { adapter: openai-compatible, base_url: "${westUrl}", api_key_env: TEST_UPSTREAM_KEY }
  vectors: { adapter: openai-compatible, base_url: "${embeddings.url}", api_key_env: TEST_UPSTREAM_KEY }
models:${model('small', 0.6, 1)}${model('judge', 0.3, 2)}${model('large', 0.9, 5, '    fallbacks: { error: [small], rate_limit: [small] }')}
  vectors:
    operations: [embed]
    provider: vectors
    price: { input: 1, output: 0, as_of: 2026-11-01, basis: own }
    context_window: 8192
    quality: { default: 0.6, basis: guessed }
    embedding: { dimensions: 8 }
baseline: large
teams: [{ name: soak }]
budgets:
  - { name: day, limit_credits: 100000000, window: day }
  - { name: sessions, each: session, limit_credits: 1000000, window: day, on_exhausted: reject }
guards:
  - { name: no-secrets, guard: secrets, on: [input], on_match: block }
  - { name: personal-data, guard: personal-data, on: [input, output], on_match: mask }
  - name: judged
    guard: model
    model: judge
    when: request.model == "small"
    settings: { check: moderation, texts: latest }
    on: [output]
    on_match: flag
    on_failure: flag
cache: { ttl_seconds: 300, price_credits: 0.01 }
alerts:
  webhooks: { ops: { url_env: OPS_WEBHOOK_URL, secret_env: OPS_WEBHOOK_SECRET } }
  rules: [{ name: providers, on: provider_down, after_seconds: 5, to: [ops] }]
records: { content: { keep: [prompt, answer], retention_days: 1 } }
gateway: { retries_max: 2 }
`;

/** What the callers saw. */
interface Seen {
  /** For each whole answer, its decision, and its price in Credits if the answer states it. */
  readonly answers: Map<string, number | null>;
  readonly outcomes: Map<string, number>;
}

type Kind = (n: number) => AsyncGenerator<{ readonly path: string; readonly body: object; readonly headers?: object }>;

const TOOLS = [
  { name: 'read', description: 'Reads a file.', schema: { type: 'object', properties: { path: { type: 'string' } } } },
];
const SECRET = `AKIA${'ABCDEFGHIJKLMNOP'}`;

/** Each kind of caller sends the requests of one conversation, or one request. */
const KINDS: Readonly<Record<string, Kind>> = {
  async *chat(n) {
    const content = n % 50 === 0 ? `The key is ${SECRET}.` : `Request ${n} of bob@example.org: name three rivers.`;
    yield {
      path: '/v1/chat/completions',
      body: { model: 'auto', messages: [{ role: 'user', content }], max_tokens: 60 },
    };
  },
  async *stream(n) {
    const messages = [{ role: 'user', content: `Write line ${n} of a poem.` }];
    const headers = n % 20 === 0 ? { 'idempotency-key': `soak-${n}` } : {};
    const body = { model: 'auto-cheap', messages, max_tokens: 60, stream: true };
    yield { path: '/v1/chat/completions', body, headers };
  },
  async *agent(n) {
    const messages: object[] = [{ role: 'user', content: `Task ${n}: repair the build.` }];
    const tools = TOOLS.map(({ name, description, schema }) => ({
      type: 'function',
      function: { name, description, parameters: schema },
    }));
    for (let turn = 0; turn < TURNS; turn++) {
      yield { path: '/v1/chat/completions', body: { model: 'auto', messages, tools, max_tokens: 60 } };
      const call = {
        id: `call_${turn}`,
        type: 'function',
        function: { name: 'read', arguments: `{"path":"${turn}.ts"}` },
      };
      messages.push({ role: 'assistant', content: null, tool_calls: [call] });
      messages.push({ role: 'tool', tool_call_id: call.id, content: 'const a = 1;\n'.repeat(100) });
    }
  },
  async *messages(n) {
    const messages: object[] = [{ role: 'user', content: `Task ${n}: explain the code.` }];
    const tools = TOOLS.map(({ name, description, schema }) => ({ name, description, input_schema: schema }));
    for (let turn = 0; turn < TURNS; turn++) {
      yield { path: '/v1/messages', body: { model: 'large', messages, tools, max_tokens: 60, stream: turn % 2 === 0 } };
      messages.push({
        role: 'assistant',
        content: [{ type: 'tool_use', id: `t${turn}`, name: 'read', input: { path: 'a' } }],
      });
      messages.push({
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: `t${turn}`, content: 'x = 1\n'.repeat(100) }],
      });
    }
  },
  async *responses(n) {
    const input: object[] = [{ role: 'user', content: `Task ${n}: write a test.` }];
    for (let turn = 0; turn < TURNS; turn++) {
      yield { path: '/v1/responses', body: { model: 'auto', input, max_output_tokens: 60, stream: turn % 3 === 0 } };
      input.push(
        { role: 'assistant', content: 'Here is a part.' },
        { role: 'user', content: `Go on with part ${turn}.` },
      );
    }
  },
  async *repeated(n) {
    const messages = [{ role: 'user', content: `Question ${n % 7}: which river is the longest?` }];
    const body = { model: 'small', messages, temperature: 0, max_tokens: 60, stream: n % 2 === 0 };
    yield { path: '/v1/chat/completions', body };
  },
  async *vectors(n) {
    yield { path: '/v1/embeddings', body: { model: 'vectors', input: [`text ${n}`, `another text ${n}`] } };
  },
};

/** Reads the price of a whole answer; null if the answer does not state it. */
const creditsIn = (text: string): number | null => {
  const stated = /"credits_consumed":\s*([\d.e-]+)/.exec(text)?.[1];
  return stated === undefined ? null : Number(stated);
};

async function ask(
  box: Signalbox,
  { path, body, headers = {} }: { path: string; body: object; headers?: object },
  seen: Seen,
) {
  const note = (what: string) => void seen.outcomes.set(what, (seen.outcomes.get(what) ?? 0) + 1);
  try {
    const response = await box.post(path, body, { headers: { ...headers } });
    const text = await response.text();
    const decision = response.headers.get('x-signalbox-decision-id');
    const isCut = response.status === 200 && /"error":\s*\{|event: error/.test(text);
    if (response.status === 200 && !isCut && decision !== null) seen.answers.set(decision, creditsIn(text));
    // Errors of Messages have no code.
    const code = (/"code":\s*"([a-z_]+)"/.exec(text) ?? /"message":\s*"([^"]{0,40})/.exec(text))?.[1] ?? '';
    const isHit = response.headers.get('x-signalbox-cache') === 'hit';
    note(isCut ? 'cut' : isHit ? '200 of the cache' : `${response.status} ${code}`.trim());
  } catch {
    note('no connection');
  }
}

interface Charge {
  readonly kind: string;
  readonly decision: string;
  readonly credits: number;
}

const STORES = {
  SQLite: { servers: 1, databaseUrl: async () => ({ url: null, stop: async () => {} }) },
  PostgreSQL: {
    servers: 2,
    async databaseUrl() {
      const postgres = await startPostgres();
      await postgres.create('soak');
      return { url: postgres.urlOf('soak'), stop: async () => await postgres[Symbol.asyncDispose]() };
    },
  },
} as const;

describe.each(Object.entries(STORES))('on %s', (name, { servers, databaseUrl }) => {
  test.concurrent(
    `${seconds} s with restarts lose no answer`,
    async () => {
      const database = await databaseUrl();
      const upstreams = [
        startFakeUpstream({ behaviour: east }),
        startFakeUpstream({ key: UPSTREAM_KEY, behaviour: west }),
      ];
      const policy = policyOf(upstreams[0]!.url, upstreams[1]!.url);
      const env = {
        ...UPSTREAM_ENV,
        SECOND_KEY: 'another-upstream-key',
        OPS_WEBHOOK_URL: webhook.url,
        OPS_WEBHOOK_SECRET: 'whsec_c2VjcmV0LW9mLXRoZS1zb2Frcw==',
        SIGNALBOX_API_KEY: KEY,
        ...(database.url !== null && { DATABASE_URL: database.url }),
      };
      const folders = Array.from({ length: servers }, () => mkdtempSync(join(tmpdir(), 'signalbox-soak-')));
      const start = (at: number) => startSignalbox({ policy, data: folders[at]!, env, isProcess: true });
      const boxes: Signalbox[] = [];
      for (const at of folders.keys()) boxes.push(await start(at));
      const seen: Seen = { answers: new Map(), outcomes: new Map() };
      const until = performance.now() + seconds * 1_000;
      let asked = 0;
      const caller = async (kind: Kind) => {
        while (performance.now() < until) {
          for await (const request of kind(++asked)) {
            if (performance.now() > until) break;
            await ask(boxes[Math.floor(random() * boxes.length)]!, request, seen);
            await Bun.sleep(random() * PAUSE_MS);
          }
        }
      };
      /** The memory of each server at the end of each of its lives, MiB. */
      const memory = folders.map((): number[] => []);
      let restarts = 0;
      const restarting = async () => {
        for (;;) {
          const left = until - performance.now();
          await Bun.sleep(Math.min(LIFE_MS / servers, Math.max(0, left)));
          if (performance.now() + 2_000 > until) return;
          const at = restarts++ % servers;
          memory[at]!.push(residentMiB(boxes[at]!.pid));
          boxes[at]!.signal('SIGTERM');
          expect(await boxes[at]!.exited).toBe(0);
          boxes[at] = await start(at);
          for (const { requests } of upstreams) requests.length = 0;
          embeddings.received.length = 0;
        }
      };
      try {
        const callers = Object.values(KINDS).flatMap((kind) =>
          Array.from({ length: CALLERS_OF_EACH_KIND }, () => caller(kind)),
        );
        await Promise.all([restarting(), ...callers]);
        for (const [at, { pid }] of boxes.entries()) memory[at]!.push(residentMiB(pid));
        const audit = await boxes[0]!.run('ledger', 'audit');
        expect([audit.code, audit.err]).toEqual([0, '']);
        const charges = await chargesOf(boxes[0]!);
        expectAllBooked(seen, charges);
        expect(charges.filter(({ kind }) => kind === 'guard').length).toBeGreaterThan(0);
        expect(seen.outcomes.get('200 of the cache') ?? 0).toBeGreaterThan(0);
        const allowed = /^(200( of the cache)?|400 content_blocked|503( .*)?|no connection)$/;
        expect([...seen.outcomes.keys()].filter((outcome) => !allowed.test(outcome))).toEqual([]);
        if (seconds >= 1_800) for (const ends of memory) expect(ends.at(-1)!).toBeLessThan(GROWTH_MAX * ends[1]!);
        const told = [...seen.outcomes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([what, n]) => `${n} ${what}`);
        const sizes = memory.map((ends) => ends.map((mib) => Math.round(mib)).join(' '));
        const line = `${name}, ${seconds} s, ${restarts} restarts of ${servers}: ${told.join(', ')}; ${seen.answers.size} whole answers booked once at the price they state; the audit is clean; MiB at the end of each life: ${sizes.join(' | ')}`;
        console.log(line);
        proved(line, `- ${line}`);
      } finally {
        for (const box of boxes) await box.stop();
        await Promise.all(upstreams.map((upstream) => upstream.stop()));
        await database.stop();
        for (const folder of folders) rmSync(folder, { recursive: true, force: true });
      }
    },
    2 * 3_600_000,
  );
});

async function chargesOf(box: Signalbox): Promise<readonly Charge[]> {
  const { code, out, err } = await box.run('ledger', 'export', '--format', 'json');
  expect([code, err]).toEqual([0, '']);
  return JSON.parse(out) as readonly Charge[];
}

/** Checks that each whole answer has one charge, at the price that the answer states. */
function expectAllBooked({ answers }: Seen, charges: readonly Charge[]): void {
  const booked = new Map<string, number>();
  for (const { decision: id, credits } of charges) booked.set(id, (booked.get(id) ?? 0) + credits);
  const lost = [...answers.keys()].filter((id) => !booked.has(id));
  const wrong = [...answers].filter(([id, credits]) => credits !== null && Math.abs(booked.get(id)! - credits) > 1e-6);
  expect({ lost, wrong }).toEqual({ lost: [], wrong: [] });
  expect(answers.size).toBeGreaterThan(0);
}
