import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { join } from 'node:path';
import { effort, isDeep } from '../../deep/effort.ts';
import { waitFor } from '../../support/answers.ts';
import { type Bystander, startBystander } from '../../support/bystander.ts';
import { startDeafCaller } from '../../support/deaf-caller.ts';
import { type Flood, startFlood } from '../../support/flood.ts';
import { leastOf } from '../../support/in-time.ts';
import { longestTurn, TURN_ENV } from '../../support/longest-turn.ts';
import {
  type AnswerKind,
  CHAT_WIRE,
  type MeteredWire,
  messagesWire,
  responsesWire,
} from '../../support/metered-wires.ts';
import { testPolicy, UPSTREAM_ENV } from '../../support/policies.ts';
import { useSignalbox } from '../../support/use.ts';

/** Callers that request a stream and read nothing of it, in every dialect, and the cost of a large answer for all other callers. */
const { runs: readers, proved } = effort('holes', 16, 60);
const KIB = 1_024;
/** The limit of live memory for a caller that reads nothing, bytes. */
const READER_MAX = 128 * KIB;
/** More bytes than the kernel buffers of an upstream's answer. */
const ANSWER = 20_000_000;
/** The goal is 100 ms; busy machines get four times as much. */
const BYSTANDER_MS = 400;
const FIXTURES = join(import.meta.dir, '..');

const DIALECTS = { chat: 'openai-compatible', messages: 'anthropic', responses: 'openai' } as const;
type Dialect = keyof typeof DIALECTS;
const DIALECT_NAMES = ['chat', 'messages', 'responses'] as const satisfies readonly Dialect[];
const KINDS: readonly AnswerKind[] = ['text', 'thinking', 'call'];
/** Characters of a piece: one token, or the amount that a service sends if it collects tokens. */
const SIZES = { short: 5, long: 1_000 } as const;

/** The chat dialect with reasoning and calls, as services stream them. */
const chatWire = (kind: AnswerKind): MeteredWire => ({
  cap: 'max_tokens',
  answer(model) {
    const made = CHAT_WIRE.answer(model);
    const chunk = (delta: object) => `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta }] })}\n\n`;
    if (kind === 'text') return made;
    const call = (one: object) => chunk({ tool_calls: [{ index: 0, ...one }] });
    const opening = { id: 'call_1', type: 'function', function: { name: 'look_up', arguments: '{"text":"' } };
    return {
      ...made,
      begin: () => (kind === 'call' ? call(opening) : ''),
      piece: (text) => (kind === 'call' ? call({ function: { arguments: text } }) : chunk({ reasoning_content: text })),
    };
  },
});
const WIRES = { chat: chatWire, messages: messagesWire, responses: responsesWire } as const;

interface Source {
  readonly name: string;
  readonly dialect: Dialect;
  readonly kind: AnswerKind;
  readonly size: keyof typeof SIZES;
  readonly flood: Flood;
}

function sourceOf(dialect: Dialect, kind: AnswerKind, size: keyof typeof SIZES): Source {
  const answer = WIRES[dialect](kind).answer('m');
  const usage = { prompt: 5, output: 1 };
  const start = answer.begin(usage) + answer.piece('', null);
  const piece = answer.piece('all that it says '.repeat(SIZES[size]).slice(0, SIZES[size]), null);
  const flood = startFlood({ contentType: 'text/event-stream', start, piece, bytes: ANSWER });
  return { name: `${dialect}-${kind}-${size}`, dialect, kind, size, flood };
}

const SOURCES = DIALECT_NAMES.flatMap((dialect) =>
  KINDS.flatMap((kind) => (['short', 'long'] as const).map((size) => sourceOf(dialect, kind, size))),
);
afterAll(() => {
  for (const { flood } of SOURCES) flood.stop();
});

const TOOL = { name: 'look_up', description: 'Looks up.' };
const PARAMETERS = { type: 'object', properties: { text: { type: 'string' } } };
/** A request for a stream in each dialect of callers. */
const ASKED: Readonly<Record<Dialect, { readonly path: string; body(model: string, isCall: boolean): object }>> = {
  chat: {
    path: '/v1/chat/completions',
    body: (model, isCall) => ({
      ...{ model, stream: true, messages: [{ role: 'user', content: 'Say much.' }] },
      ...(isCall && { tools: [{ type: 'function', function: { ...TOOL, parameters: PARAMETERS } }] }),
    }),
  },
  messages: {
    path: '/v1/messages',
    body: (model, isCall) => ({
      ...{ model, stream: true, max_tokens: 8_000, messages: [{ role: 'user', content: 'Say much.' }] },
      ...(isCall && { tools: [{ ...TOOL, input_schema: PARAMETERS }] }),
    }),
  },
  responses: {
    path: '/v1/responses',
    body: (model, isCall) => ({
      ...{ model, stream: true, input: 'Say much.' },
      ...(isCall && { tools: [{ type: 'function', ...TOOL, parameters: PARAMETERS }] }),
    }),
  },
};

interface DeafGroup {
  readonly surface: Dialect;
  readonly source: Source;
}

/** Every dialect of callers with every dialect of services; in `npm run test:system` each pair with one size of pieces. */
const GROUPS: readonly DeafGroup[] = DIALECT_NAMES.flatMap((surface, nth) =>
  SOURCES.filter((_, at) => isDeep || (at + nth) % 2 === 0).map((source) => ({ surface, source })),
);

describe('a caller that requests a stream and reads nothing', () => {
  const box = useSignalbox(() => {
    const more = '    deadlines: { first_token_ms: 60000, idle_ms: 200000, total_ms: 300000 }\n';
    const capabilities = ['tools', 'json_schema', 'reasoning'];
    const providers = SOURCES.map(({ name, dialect, flood: { url } }) => [name, { url, adapter: DIALECTS[dialect] }]);
    const models = SOURCES.map(({ name }) => [name, { endpoints: [name], more, capabilities }]);
    return {
      isProcess: true,
      policy: testPolicy(Object.fromEntries(providers), Object.fromEntries(models)),
      env: { ...UPSTREAM_ENV, BUN_OPTIONS: `--preload=${join(FIXTURES, 'e2e/live-memory.fixture.ts')}` },
    };
  });

  const requestOf = ({ surface, source: { name, kind } }: DeafGroup): string => {
    const { path, body } = ASKED[surface];
    const text = JSON.stringify(body(name, kind === 'call'));
    return `POST ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${box.key}\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
  };

  /**
   * Starts a caller that reads nothing. The caller's own kernel buffers almost nothing of long pieces; for short pieces it buffers some
   * hundred events, as for any program.
   */
  function start(group: DeafGroup): () => void {
    const port = Number(new URL(box.url).port);
    if (group.source.size === 'long') return startDeafCaller(port, requestOf(group)).hangUp;
    const socket = connect(port, '127.0.0.1', () => {
      socket.pause();
      socket.write(requestOf(group));
    });
    socket.on('error', () => {});
    return () => socket.destroy();
  }

  async function live(): Promise<number> {
    const before = box.lines.length;
    process.kill(box.pid, 'SIGUSR2');
    const line = await waitFor(() => box.lines.slice(before).find((each) => each.includes('live memory')));
    return JSON.parse(line).heap;
  }

  let bystander: Bystander;
  /** The longest wait of the bystander, ms, except for garbage collections that the test requests. */
  let waitMs = 0;
  beforeAll(() => {
    bystander = startBystander(`${box.url}/healthz`);
  });
  afterAll(() => bystander.stop());

  /** Returns the live memory once this many answers of these floods no longer advance. */
  async function settled(floods: readonly Flood[], count: number): Promise<number> {
    const total = () => floods.flatMap(({ sent }) => sent).reduce((sum, each) => sum + each, 0);
    const begun = () => floods.reduce((sum, { sent }) => sum + sent.length, 0);
    for (let before = -1; begun() < count || total() !== before; await Bun.sleep(500)) before = total();
    waitMs = Math.max(waitMs, await bystander.worstMs());
    const least = Math.min(await live(), await live(), await live());
    await bystander.worstMs();
    return least;
  }

  /**
   * Returns the cost of a caller of these groups, bytes: the growth by `count` callers after as many callers have warmed up the program.
   * Infinity if a bystander waited for too long.
   */
  async function costOf(groups: readonly DeafGroup[], count: number): Promise<number> {
    const floods = [...new Set(groups.map(({ source }) => source.flood))];
    const before = floods.reduce((sum, { sent }) => sum + sent.length, 0);
    const leave: (() => void)[] = [];
    waitMs = 0;
    const add = () => {
      for (let at = 0; at < count; at++) leave.push(start(groups[at % groups.length]!));
      return settled(floods, before + leave.length);
    };
    try {
      await add();
      const [first, second] = [await add(), await add()];
      return waitMs < BYSTANDER_MS ? (second - first) / count : Number.POSITIVE_INFINITY;
    } finally {
      for (const each of leave) each();
    }
  }

  // `npm run test:deep` tests each pair separately.
  test.skipIf(isDeep)(
    `costs less than ${READER_MAX / KIB} KiB of live memory`,
    async () => {
      expect(await leastOf(READER_MAX, () => costOf(GROUPS, GROUPS.length))).toBeLessThan(READER_MAX);
    },
    // Ten tries of some seconds each, because other tests may delay the bystander.
  );

  const costs: [Dialect, number][] = [];
  let worstMs = 0;
  test.each((isDeep ? GROUPS : []).map((group) => [group.surface, group.source.name, group] as const))(
    '%s of %s',
    async (surface, name, group) => {
      const cost = await leastOf(READER_MAX, () => costOf([group], readers));
      console.log(`${surface} of ${name}: ${Math.round(cost / KIB)} KiB`);
      expect(cost).toBeLessThan(READER_MAX);
      costs.push([surface, cost]);
      worstMs = Math.max(worstMs, waitMs);
    },
  );
  afterAll(() => {
    if (!isDeep || costs.length < GROUPS.length) return;
    const most = (of: Dialect) => Math.max(...costs.map(([surface, cost]) => (surface === of ? cost : 0)));
    const shown = DIALECT_NAMES.map((one) => `${Math.round(most(one) / KIB)} KiB in ${one}`).join(', ');
    proved(
      `${readers} callers at once who ask for a stream of 20 MB and read nothing, of each dialect from each dialect, text, thoughts and calls: live memory each of ${shown} at most; a bystander waits ${Math.round(worstMs)} ms at most`,
    );
  });
});

describe('a request for 2,048 embeddings', () => {
  const INPUTS = 2_048;
  const DIMENSIONS = isDeep ? 1_536 : 768;
  /** The limit for the longest turn of the event loop, ms of its own CPU time, and the goal for the longest wait of a bystander. */
  const TURN_MS = 100;
  const vector = Array.from({ length: DIMENSIONS }, (_, at) => Math.fround(Math.sin(at + 1)));
  const [numbers, bytes] = [JSON.stringify(vector), Buffer.from(Float32Array.from(vector).buffer).toString('base64')];

  /**
   * Answers by the number and form of their vectors. Each answer is made once, so that the fake service does not take the CPU time of
   * others.
   */
  const answers = new Map<string, Blob>();
  function answerOf(count: number, format: string): Blob {
    const name = `${count} ${format}`;
    const embedding = format === 'base64' ? `"${bytes}"` : numbers;
    const one = (_: unknown, index: number) => `{"object":"embedding","index":${index},"embedding":${embedding}}`;
    const usage = `{"prompt_tokens":${count},"total_tokens":${count}}`;
    const text = () =>
      `{"object":"list","data":[${Array.from({ length: count }, one).join(',')}],"model":"m","usage":${usage}}`;
    const answer = answers.get(name) ?? new Blob([text()], { type: 'application/json' });
    answers.set(name, answer);
    return answer;
  }
  const upstream = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { input, encoding_format: format } = Object(await request.json());
      return new Response(answerOf(input.length, format));
    },
  });
  afterAll(() => upstream.stop(true));

  const modelYaml = (name: string) => `  ${name}:
    endpoints: [{ provider: ${name}, upstream: m }]
    price: { input: 1, output: 0, as_of: 2026-11-01, basis: own }
    context_window: 8000
    operations: [embed]
    embedding: { dimensions: ${DIMENSIONS}, batch_inputs: 2048 }
    latency: { ttft_ms: 100, output_tokens_per_second: 1000, basis: guessed }`;
  const provider = (name: string, adapter: string) =>
    `  ${name}: { adapter: ${adapter}, base_url: "http://127.0.0.1:${upstream.port}/v1", api_key_env: TEST_UPSTREAM_KEY }`;
  const box = useSignalbox(() => ({
    isProcess: true,
    policy: `version: 1
credits: { usd_per_credit: 0.001 }
providers:
${provider('float', 'openai-compatible')}
${provider('base64', 'openai')}
tasks:
  general: { expected_output_tokens: 400, default_input_tokens: 500, min_useful_output: 64 }
models:
${modelYaml('float')}
${modelYaml('base64')}
gateway: { retries_max: 0 }
`,
    env: { ...UPSTREAM_ENV, ...TURN_ENV },
  }));

  const input = Array.from({ length: INPUTS }, (_, at) => `Text number ${at}.`);
  const FORMATS = ['float', 'base64'] as const;
  /** `npm run test:system` tests only pairs whose answer has another form than the upstream's. */
  const FORMS = FORMATS.flatMap((model) => FORMATS.map((format) => ({ model, format }))).filter(
    ({ model, format }) => isDeep || model !== format,
  );
  test('does not block the event loop, whatever the form of its numbers', async () => {
    const bystander = startBystander(`${box.url}/healthz`);
    let most = { waitMs: 0, turnMs: 0 };
    try {
      for (const { model, format } of FORMS) {
        let turnMs = Number.POSITIVE_INFINITY;
        const waitMs = await leastOf(TURN_MS, async () => {
          await longestTurn(box);
          await bystander.worstMs();
          const response = await box.post('/v1/embeddings', { model, input, encoding_format: format });
          const text = await response.text();
          const waited = await bystander.worstMs();
          turnMs = Math.min(turnMs, await longestTurn(box));
          expect([response.status, JSON.parse(text).data.length]).toEqual([200, INPUTS]);
          return waited;
        });
        console.log(`${model} as ${format}: the longest wait ${Math.round(waitMs)} ms, turn ${Math.round(turnMs)} ms`);
        expect(turnMs).toBeLessThan(TURN_MS);
        expect(waitMs).toBeLessThan(BYSTANDER_MS);
        most = { waitMs: Math.max(most.waitMs, waitMs), turnMs: Math.max(most.turnMs, turnMs) };
      }
    } finally {
      bystander.stop();
    }
    proved(
      `a request of ${INPUTS} embeddings of ${DIMENSIONS} numbers, as numbers and in base64: a bystander waits ${Math.round(most.waitMs)} ms at most, of which ${Math.round(most.turnMs)} are the server's own time`,
    );
  });
});
