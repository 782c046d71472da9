import { cpus } from 'node:os';
import { shipped } from '../plugins/index.ts';
import type { Frame, HttpCall, ProviderCall, WireAdapter } from '../src/contract/provider.ts';
import type { ChatMessage, ChatRequest } from '../src/core/api/chat-request.ts';
import { readChatRequest } from '../src/dialects/openai-chat/reader.ts';
import { createRegistry } from '../src/host/plugins/registry.ts';
import { loadPolicy } from '../src/policy/load.ts';
import { frameParser } from '../src/providers/frames.ts';
import { DIALECTS } from '../test/support/dialects/index.ts';
import type { Behaviour } from '../test/support/fake-upstream.ts';
import { median, table } from './stats.ts';

/**
 * `npm run bench:dialects`: measures an adapter's translation without a network: building a request, reading an answer, and reading an
 * event of a stream, compared with `JSON.parse` of the same answer. The dialects take turns, and `openai-compatible` is the reference for
 * the others. The bodies come from the tests' own servers. `--quick` gives a rough result.
 */
const ROUNDS = process.argv.includes('--quick') ? 40 : 200;
const WARM_UP = 40;
/** The number of calls in a row before the next dialect has its turn. */
const BLOCK = 20;

interface Subject {
  readonly name: string;
  readonly adapter: string;
  readonly upstream: string;
  readonly dialect: keyof typeof DIALECTS;
}

const SUBJECTS: readonly Subject[] = [
  { name: 'openai-compatible', adapter: 'openai-compatible', upstream: 'gpt-5.2', dialect: 'openai' },
  { name: 'openai, by chat', adapter: 'openai', upstream: 'gpt-5.2', dialect: 'openai' },
  { name: 'openai, by Responses', adapter: 'openai', upstream: 'gpt-6.1-sol', dialect: 'openai' },
  { name: 'anthropic', adapter: 'anthropic', upstream: 'claude-opus-5-5', dialect: 'anthropic' },
  { name: 'gemini', adapter: 'gemini', upstream: 'gemini-3.8-flash', dialect: 'gemini' },
];

const tools: NonNullable<ChatRequest['tools']> = Array.from({ length: 20 }, (_, at) => ({
  type: 'function',
  function: {
    name: `tool_${at}`,
    description: 'Looks something up and says what it has found, in a sentence or two.',
    parameters: {
      type: 'object',
      properties: { query: { type: 'string' }, limit: { type: 'integer' } },
      required: ['query'],
    },
  },
}));

/** A user's request, and twenty steps of an agent that works on it: 41 messages, about 20 KB with the tools. */
const steps: ChatMessage[] = Array.from({ length: 20 }, (_, at): ChatMessage[] => {
  const [id, text] = [
    `call_${at}`,
    'The committee met on Tuesday to look at the figures of the last quarter. '.repeat(8),
  ];
  const call = {
    id,
    type: 'function' as const,
    function: { name: `tool_${at}`, arguments: '{"query":"figures","limit":3}' },
  };
  return [
    { role: 'assistant', content: 'I look that up.', tool_calls: [call] },
    { role: 'tool', tool_call_id: id, content: text },
  ];
}).flat();
const chat: ChatRequest = {
  model: 'm',
  messages: [
    { role: 'user', content: 'Which of the two offers is cheaper over three years, and by how much? '.repeat(3) },
  ],
};
const turn: ChatRequest = { ...chat, messages: [...chat.messages, ...steps], tools };

const registry = createRegistry(shipped);

function adapterOf({ adapter }: Subject): WireAdapter {
  const text = `version: 1
providers: { p: { adapter: ${adapter}, base_url: "http://127.0.0.1:9/v1" } }
models: { m: { provider: p, price: { input: 1, output: 1 }, context_window: 9, max_output: 9, quality: { default: 0.5 } } }
`;
  const files = [{ path: 'policy.yaml', text }];
  const { snapshot } = loadPolicy(files, { env: { get: () => undefined }, ...registry, revisionOf: () => 'bench' });
  const prepared = registry.providers.get(adapter)?.prepare({ ...snapshot?.providers.get('p')?.settings });
  if (prepared?.kind !== 'wire') throw new Error(`${adapter} does not speak over the network`);
  return prepared;
}

const callOf = ({ upstream }: Subject, request: ChatRequest, stream: boolean): ProviderCall => ({
  upstream,
  request: readChatRequest(request),
  extras: {},
  stream,
  outputCap: 4_096,
  model: {
    capabilities: ['tools', 'reasoning'],
    lacks: [],
    acceptsTemperature: false,
    ttftMs: 1,
    outputTokensPerSecond: 1,
  },
});

/** Markdown, as models write it. Unescaping is most of the cost of reading, and text without escapes would hide this. */
const LINE = '- **The first offer** is "cheaper",\n  by 18.5 % over three years – see the table.\n';
/** About 20 KB. */
const ANSWER = LINE.repeat(240);
/** Pieces of 110 letters each. With the call's pieces and the framing there are about 200 events. */
const PIECES: readonly string[] = Array.from({ length: 150 }, () => ANSWER.slice(0, 110));
const CALL = {
  name: 'tool_7',
  arguments: JSON.stringify({ query: 'figures of the last quarter '.repeat(9), limit: 3 }),
};

const pathOf = ({ adapter, subject }: { adapter: WireAdapter; subject: Subject }, request: ChatRequest): string =>
  sent(adapter, callOf(subject, request, true)).path;

function sent(adapter: WireAdapter, call: ProviderCall): HttpCall {
  const made = adapter.request(call);
  if (!('body' in made)) throw new Error(made.message);
  return made;
}

/**
 * Returns the answer of the subject's own server to a call: in one piece, and as the frames of two streams, one with text and one with a
 * call.
 */
function answersOf(subject: Subject, adapter: WireAdapter, request: ChatRequest) {
  const dialect = DIALECTS[subject.dialect];
  const wire = (stream: boolean) => {
    const made = sent(adapter, callOf(subject, request, stream));
    const { pathname, searchParams: query } = new URL(made.path, 'http://x');
    const path = dialect.basePath + pathname;
    return { method: 'POST', path, query, headers: new Headers(), text: made.body, body: JSON.parse(made.body) };
  };
  const framesOf = (behaviour: Behaviour): readonly Frame[] =>
    frameParser('sse').push(dialect.events(wire(true), behaviour).join(''));
  const streams = [framesOf({ text: PIECES }), framesOf({ toolCalls: [CALL] })];
  return { reply: JSON.stringify(dialect.reply(wire(false), { text: ANSWER })), streams };
}

/**
 * Returns the time of each task in µs, which is the median of its blocks. The tasks take turns, so that a slow moment affects all of them.
 */
function timed(works: readonly (() => void)[]): number[] {
  const blocks = works.map((): number[] => []);
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    works.forEach((work, at) => {
      const begun = Bun.nanoseconds();
      for (let i = 0; i < BLOCK; i++) work();
      if (round >= 0) blocks[at]!.push((Bun.nanoseconds() - begun) / BLOCK / 1_000);
    });
  }
  return blocks.map(median);
}

const subjects = SUBJECTS.map((subject) => {
  const adapter = adapterOf(subject);
  return { subject, adapter, ...answersOf(subject, adapter, turn) };
});
const asking = (request: ChatRequest) =>
  timed(
    subjects.map(({ subject, adapter }) => {
      const call = callOf(subject, request, true);
      return () => void adapter.request(call);
    }),
  );
const [plain, agents] = [asking(chat), asking(turn)];
// Both readings are measured together, because one is part of the other.
const reading = timed([
  ...subjects.map(
    ({ adapter, reply }) =>
      () =>
        void adapter.reply(reply),
  ),
  ...subjects.map(
    ({ reply }) =>
      () =>
        void JSON.parse(reply),
  ),
]);
const [replies, parsing] = [reading.slice(0, subjects.length), reading.slice(subjects.length)];
const events = timed(
  subjects.map(({ adapter, streams }) => () => {
    for (const frames of streams) {
      const reader = adapter.stream();
      for (const frame of frames) reader.read(frame);
    }
  }),
).map((one, at) => one / subjects[at]!.streams.flat().length);

const cell = (values: readonly number[], at: number, digits = 1): string =>
  `${values[at]!.toFixed(digits)} (${(values[at]! / values[0]!).toFixed(1)})`;
const rows = [
  [
    'µs (ratio)',
    'a question, asked',
    'an agent’s turn, asked',
    'an answer of 20 KB, read',
    'of it JSON.parse',
    'an event, read',
  ],
];
for (const [at, one] of subjects.entries()) {
  // Without tools, requests to the model use chat completions, even if they use another endpoint with tools.
  const isSame = pathOf(one, chat) === pathOf(one, turn);
  const question = isSame ? cell(plain, at) : '–';
  const parsed = parsing[at]!.toFixed(1);
  rows.push([one.subject.name, question, cell(agents, at), cell(replies, at), parsed, cell(events, at, 2)]);
}
console.log(`${cpus()[0]?.model}, Bun ${Bun.version}, ${ROUNDS} rounds of ${BLOCK}\n\n${table(rows)}`);
