import { afterAll, beforeAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import { tries } from '../deep/effort.ts';
import { answerOf } from '../support/answers.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { keptBy } from '../support/kept-conversations.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';

/** A server with its providers. */
interface World {
  readonly box: Signalbox;
  readonly upstreams: readonly FakeUpstream[];
}

/** Two servers get the same bodies: one keeps running conversations, the other parses every body whole. */
let keeping: World;
/** Keeps conversations, too. It serves only a few requests, so none of its conversations is too old to be kept. */
let counted: World;
let plain: World;

const MODELS = { chat: 'openai-compatible', gpt: 'openai', claude: 'anthropic' } as const;

async function startWorld(more: string): Promise<World> {
  const openai = startFakeUpstream({ key: UPSTREAM_KEY });
  const anthropic = startFakeUpstream({ key: UPSTREAM_KEY, dialect: 'anthropic' });
  const urlOf = (name: string) => (name === 'claude' ? anthropic : openai).url;
  const policy = testPolicy(
    Object.fromEntries(Object.entries(MODELS).map(([name, adapter]) => [name, { url: urlOf(name), adapter }])),
    Object.fromEntries(
      Object.keys(MODELS).map((name, at) => [
        name,
        { endpoints: [name], quality: 0.9 - at / 10, price: { input: 1, output: 4 } },
      ]),
    ),
    `gateway: { retries_max: 0${more} }\n`,
  );
  return { box: await startSignalbox({ policy, env: UPSTREAM_ENV }), upstreams: [openai, anthropic] };
}

beforeAll(async () => {
  keeping = await startWorld('');
  counted = await startWorld('');
  plain = await startWorld(', turns_bytes_max: 0');
});
afterAll(() =>
  Promise.all([keeping, plain, counted].flatMap(({ box, upstreams }) => [box, ...upstreams].map((one) => one.stop()))),
);

const CODE = 'const a = "b\\\\c";\n'.repeat(40);
const schema = { type: 'object', properties: { n: { type: 'integer' } }, description: 'x'.repeat(300) };
type Items = readonly unknown[];

interface Dialect {
  readonly path: string;
  readonly list: string;
  /** The first messages. */
  readonly first: Items;
  /** A call of a tool with its result. @param isLast whether it is the end of the conversation */
  step(at: number, isLast: boolean): Items;
  /** A message that the dialect refuses. */
  readonly wrong: unknown;
  /** Fields before and after the messages. */
  readonly before: object;
  readonly after: object;
}

const DIALECTS: readonly Dialect[] = [
  {
    path: '/v1/chat/completions',
    list: 'messages',
    first: [
      { role: 'system', content: CODE.repeat(5) },
      { role: 'user', content: 'Fix it.' },
    ],
    step: (at) => [
      {
        role: 'assistant',
        content: null,
        refusal: null,
        tool_calls: [{ id: `c${at}`, type: 'function', function: { name: 'read', arguments: `{"n":${at}}` } }],
      },
      { role: 'tool', tool_call_id: `c${at}`, content: `${at % 3 === 0 ? 'Error: no file' : CODE} ${at}` },
    ],
    wrong: { role: 'user', content: 7 },
    before: { max_tokens: 200 },
    after: { tools: [{ type: 'function', function: { name: 'read', parameters: schema } }] },
  },
  {
    path: '/v1/messages',
    list: 'messages',
    first: [{ role: 'user', content: CODE.repeat(5) }],
    step: (at, isLast) => [
      { role: 'assistant', content: [{ type: 'tool_use', id: `c${at}`, name: 'read', input: { n: at } }] },
      {
        role: 'user',
        content: [
          // Clients move the mark of the cache to the last message in each turn.
          {
            type: 'tool_result',
            tool_use_id: `c${at}`,
            content: CODE,
            ...(isLast && { cache_control: { type: 'ephemeral' } }),
          },
        ],
      },
    ],
    wrong: { role: 'user', content: 7 },
    before: { max_tokens: 500, system: [{ type: 'text', text: CODE, cache_control: { type: 'ephemeral' } }] },
    after: { tools: [{ name: 'read', input_schema: schema }] },
  },
  {
    path: '/v1/responses',
    list: 'input',
    first: [{ role: 'user', content: CODE.repeat(5) }],
    step: (at) => [
      { type: 'reasoning', summary: [{ type: 'summary_text', text: `Step ${at}` }] },
      { type: 'function_call', call_id: `c${at}`, name: 'read', arguments: `{"n":${at}}` },
      { type: 'function_call_output', call_id: `c${at}`, output: CODE },
    ],
    wrong: { role: 'user', content: 7 },
    before: { store: false, instructions: CODE },
    after: { tools: [{ type: 'function', name: 'read', parameters: schema, strict: false }] },
  },
];

/** A change from one body of a conversation to the next one. */
const EDITS = {
  grow: (items: Items, _: Dialect): Items => items,
  'change a message in the middle': (items: Items, _: Dialect): Items => items.with(1, items.at(-1)),
  'remove messages': (items: Items, _: Dialect): Items => items.slice(0, -3),
  'add an unknown message': (items: Items, { wrong }: Dialect): Items => [...items, wrong],
  'reorder members': (items: Items, _: Dialect): Items =>
    items.map((one, at) => (at === 1 ? Object.fromEntries(Object.entries(Object(one)).reverse()) : one)),
} as const;

/** A change of the text of a body that does not change its values, or that repeats a member. */
const FORMS = {
  compact: (text: string) => text,
  spaced: (text: string) => JSON.stringify(JSON.parse(text), null, 1),
  escaped: (text: string) => text.replaceAll('"role"', '"\\u0072ole"').replaceAll('const', '\\u0063onst'),
  'named with escapes': (text: string) => text.replace('"model"', '"\\u006dodel"'),
  'with two models': (text: string) => text.replace('{', '{"model":"none",'),
  'with two members in a message': (text: string) => text.replace('"role":"user"', '"role":"system","role":"user"'),
  'with two members in arguments': (text: string) => text.replace('"input":{', '"input":{"n":0,'),
  'with members that cost more': (text: string) => text.replace(/\}$/, ',"service_tier":"priority","n":1}'),
  cut: (text: string) => text.slice(0, -9),
} as const;

const pick = <Key extends string>(record: Readonly<Record<Key, unknown>>, usual: Key) =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(usual) }, fc.constantFrom(...(Object.keys(record) as Key[])));
const turn = fc.record({
  edit: pick(EDITS, 'grow'),
  form: pick(FORMS, 'compact'),
  model: fc.constantFrom('auto', 'own'),
  stream: fc.boolean(),
  settingsFirst: fc.boolean(),
});
const session = fc.record({
  dialect: fc.constantFrom(...DIALECTS),
  turns: fc.array(turn, { minLength: 4, maxLength: 7 }),
});
let task = 0;

/** Returns everything that a caller, a provider and an operator see of a request. */
async function seenOf({ box, upstreams }: World, path: string, body: string) {
  const answer = await box.post(path, undefined, { body });
  const id = answer.headers.get('x-signalbox-decision-id');
  const read = answer.ok ? await answer.text() : await answerOf(answer);
  const decision = id === null ? null : Object(await (await box.get(`/v1/decisions/${id}`)).json());
  const sent = upstreams.flatMap(({ requests }) => requests.splice(0));
  return {
    status: answer.status,
    error: typeof read === 'string' ? null : { ...Object(read).error, request_id: null },
    sent: sent.map(({ text }) => JSON.stringify(JSON.parse(text))),
    /** Members that occur twice would make this number differ. */
    members: sent.map(({ text }) => text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '').split(':').length),
    // Each server names conversations with a secret of its own.
    facts: decision?.facts && { ...decision.facts, conversation: decision.facts.conversation?.answers },
    choice: decision?.choice,
    holds: decision?.candidates?.map(({ worst_case_credits }: Record<string, unknown>) => worst_case_credits),
  };
}

/** Returns what the prompt determines in a recommendation or in a count of tokens. */
async function adviceOf({ box }: World, path: string, body: string) {
  const answer = await box.post(path, undefined, { body });
  const { error, recommended_model, max_cost_credits, max_output_tokens, input_tokens, basis } = Object(
    await answer.json(),
  );
  return {
    status: answer.status,
    error: { ...error, request_id: null },
    recommended_model,
    bounds: [max_cost_credits, max_output_tokens],
    tokens: [input_tokens, basis],
  };
}

test('in all dialects, kept conversations change nothing that callers, providers and operators see', async () => {
  let served = 0;
  await fc.assert(
    fc.asyncProperty(session, async ({ dialect, turns }) => {
      const own = { '/v1/messages': 'claude', '/v1/responses': 'gpt' }[dialect.path] ?? 'chat';
      const begun = [...dialect.first, { role: 'user', content: `Task ${task++}` }];
      for (const [at, { edit, form, model, stream, settingsFirst }] of turns.entries()) {
        const steps = Array.from({ length: at + 1 }, (_, index) => dialect.step(index, index === at)).flat();
        const items = EDITS[edit]([...begun, ...steps], dialect);
        const rest = { model: model === 'own' ? own : model, ...(stream && { stream }), ...dialect.before };
        const body = settingsFirst
          ? { ...rest, ...dialect.after, [dialect.list]: items }
          : { ...rest, [dialect.list]: items, ...dialect.after };
        const text = FORMS[form](JSON.stringify(body));
        const [found, expected] = [await seenOf(keeping, dialect.path, text), await seenOf(plain, dialect.path, text)];
        expect(found).toEqual(expected);
        if (found.status === 200) served++;
        // Each third turn is enough, and takes a third of the time.
        if (at % 3 !== 2) continue;
        for (const path of dialect.path === '/v1/messages' ? ['/v1/route', '/v1/messages/count_tokens'] : ['/v1/route'])
          expect(await adviceOf(keeping, path, text)).toEqual(await adviceOf(plain, path, text));
      }
    }),
    tries('kept conversations change nothing', 16, 300),
  );
  expect(served).toBeGreaterThan(30);
  expect(await keptBy(keeping.box)).toBeGreaterThan(10);
  expect(await keptBy(plain.box)).toBe(0);
});

test('questions leave no conversation, however often they are sent', async () => {
  const before = await keptBy(counted.box);
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: CODE.repeat(10) },
  ];
  for (let times = 0; times < 3; times++) {
    expect((await counted.box.post('/v1/chat/completions', { model: 'chat', messages })).status).toBe(200);
    expect(await keptBy(counted.box)).toBe(before);
  }
});

test('recommendations, token counts and chats continue the same conversation', async () => {
  const messages: object[] = [{ role: 'user', content: CODE.repeat(10) }];
  const before = (await keptBy(counted.box)) ?? 0;
  for (const path of ['/v1/route', '/v1/messages', '/v1/messages/count_tokens', '/v1/route']) {
    messages.push({ role: 'assistant', content: 'Next.' }, { role: 'user', content: `${path} ${CODE}` });
    const body = { model: 'claude', max_tokens: 50, system: 'Be brief.', messages };
    expect((await counted.box.post(path, body)).status).toBe(200);
  }
  expect(await keptBy(counted.box)).toBe(before + 1);
});

test('a request that holds no prompt leaves no conversation, whatever its body contains', async () => {
  const before = await keptBy(counted.box);
  const messages = [
    { role: 'user', content: CODE.repeat(10) },
    { role: 'user', content: 'Go on.' },
  ];
  for (const path of ['/admin/keys', '/v1/feedback']) {
    expect((await counted.box.post(path, { messages })).status).toBe(400);
    expect(await keptBy(counted.box)).toBe(before);
  }
});
