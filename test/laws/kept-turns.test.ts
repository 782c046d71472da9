import { afterAll, beforeAll, expect, test } from 'bun:test';
import { cpSync, rmSync } from 'node:fs';
import fc from 'fast-check';
import { type ListMemory, ListValues, memoryOf, remember } from '../../src/core/json/list-memory.ts';
import { KeptConversations, type KeptReading } from '../../src/http/kit/kept-conversations.ts';
import { someOf, tries } from '../deep/effort.ts';
import { type Behaviour, type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { keptBy } from '../support/kept-conversations.ts';
import { type LivePolicy, startLivePolicy } from '../support/live-policy.ts';
import { TOY, testPolicy, UPSTREAM_KEY } from '../support/policies.ts';
import { startSignalbox, temporaryFolder } from '../support/signalbox.ts';
import {
  type Conversation,
  EDITS,
  type Edit,
  edited,
  type Item,
  KINDS,
  type Sending,
  TURN_DIALECTS,
} from './kept-turns.ts';

/**
 * Two servers get the same turns of conversations: one keeps values of earlier turns, the other keeps none. The law: callers, providers and
 * operators see the same, in every dialect, also after edits of messages, after reloads of the policy, and when another provider serves a
 * turn. Mutants that keep values of edited messages must break the law.
 */
interface World {
  readonly live: LivePolicy;
  readonly upstreams: readonly FakeUpstream[];
}

/** The adapters of the models. Every model can serve a turn if the providers of the models before it fail. */
const FALLIBLE = { chat: 'openai-compatible', claude: 'anthropic', gem: 'gemini', gpt: 'openai' } as const;
/**
 * The models for turns at the same time. Their providers never fail, because it would depend on the order of the turns which of them meets
 * a failing provider.
 */
const STEADY = { 'steady-chat': 'openai-compatible', 'steady-claude': 'anthropic', 'steady-gpt': 'openai' } as const;
const ADAPTERS = { ...FALLIBLE, ...STEADY };
const namesIn = <Name extends string>(adapters: Readonly<Record<Name, string>>) => Object.keys(adapters) as Name[];
const MODELS = namesIn(ADAPTERS);
const REVERSED = [...namesIn(FALLIBLE).toReversed(), ...namesIn(STEADY)];
const WIRES = { 'openai-compatible': 'openai', anthropic: 'anthropic', gemini: 'gemini', openai: 'openai' } as const;

/** The sections that reloads change. */
const MASK = `guards:
  - { name: pii, guard: personal-data, settings: { kinds: [email] }, on: [input, output], on_match: mask }
`;
const BLOCK = `guards:
  - { name: pii, guard: personal-data, settings: { kinds: [email] }, on: [input], on_match: mask, unmask: [text] }
  - { name: falcon, guard: words, settings: { deny: [falcon] }, on: [input, output], on_match: block }
`;
const VARIANTS = [
  { more: '', order: MODELS },
  { more: MASK, order: MODELS },
  { more: BLOCK, order: REVERSED },
  { more: '', order: REVERSED },
] as const;

/** Both servers have this clock, so that no latency differs. Milliseconds. */
let time = 1_800_000_000_000;
const TURN_MS = 7_000;
/** The health of providers recovers between sessions. */
const SESSION_MS = 300_000;

function policyOf(variant: number, upstreams: readonly FakeUpstream[], turnsBytesMax: string): string {
  const { more, order } = VARIANTS[variant]!;
  const text = testPolicy(
    Object.fromEntries(MODELS.map((name, at) => [name, { url: upstreams[at]!.url, adapter: ADAPTERS[name] }])),
    Object.fromEntries(
      order.map((name, at) => [
        name,
        {
          endpoints: [name],
          quality: 0.9 - at / 10,
          price: { input: 1 + at, output: 4 },
          capabilities: ['tools', 'json_schema', 'vision', 'file_input'],
          more: '    image_tokens_max: 1600\n',
        },
      ]),
    ),
    `${more}gateway: { retries_max: 3${turnsBytesMax} }\n`,
  );
  return text.replaceAll('{ adapter:', '{ cache_ttl_s: 300, cache_min_tokens: 1, adapter:');
}

const folders = [temporaryFolder(), temporaryFolder()] as const;
let worlds: readonly [World, World];
const setting = (at: number): string => (at === 0 ? '' : ', turns_bytes_max: 0');

async function startWorld(at: number, data: string): Promise<World> {
  const upstreams = MODELS.map((name) => startFakeUpstream({ key: UPSTREAM_KEY, dialect: WIRES[ADAPTERS[name]] }));
  const files = { 'policy.yaml': policyOf(0, upstreams, setting(at)) };
  const live = await startLivePolicy(files, { clock: () => time, now: () => time, data });
  return { live, upstreams };
}

/** Pauses and ejections have a random part. */
const { random } = Math;
beforeAll(async () => {
  Math.random = () => 0;
  // The placeholders of guards follow from the secret of the database.
  const first = await startSignalbox({ policy: TOY, data: folders[0] });
  await first.stop();
  cpSync(folders[0], folders[1], { recursive: true });
  worlds = [await startWorld(0, folders[0]), await startWorld(1, folders[1])];
});
afterAll(async () => {
  Math.random = random;
  await Promise.all(worlds.flatMap(({ live, upstreams }) => [live, ...upstreams].map((server) => server.stop())));
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

async function reload(variant: number): Promise<void> {
  for (const [at, { live, upstreams }] of worlds.entries()) {
    live.replace('policy.yaml', policyOf(variant, upstreams, setting(at)));
    const answer = await live.reload();
    if (!answer.ok) throw new Error(await answer.text());
  }
}

/** Members and headers that differ in each request, or between the two policies. */
const VOLATILE =
  /^(?:id|item_id|call_id|tool_call_id|response_id|responseId|request_id|created|created_at|completed_at|createTime|time|at|policy_revision|decision_id|trace_id|seed|frame|obfuscation|date|content-length|x-request-id|request-id|x-signalbox-(?:decision|request)-id)$/;

/** A copy without volatile members. */
const settled = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (key, member: unknown) => (VOLATILE.test(key) ? null : member)) ?? 'null');

/** The events of a stream, or the body of an answer. */
const contentOf = (text: string): unknown =>
  /^(?:event|data):/.test(text)
    ? text.split('\n').map((line) => (/^data: \{/.test(line) ? JSON.parse(line.slice(6)) : line))
    : JSON.parse(text);

interface Sent {
  readonly path: string;
  readonly body: string;
}

interface Seen {
  readonly statuses: readonly number[];
  readonly seen: object;
}

/** Returns all that callers, providers and operators see of requests that are sent at the same time. */
async function seenOf(world: World, requests: readonly Sent[]): Promise<Seen> {
  const { live, upstreams } = world;
  const isAlone = requests.length === 1;
  const statuses: number[] = [];
  const answers = await Promise.all(
    requests.map(async ({ path, body }) => {
      const answer = await live.box.post(path, undefined, { body });
      const text = await answer.text();
      statuses.push(answer.status);
      const id = answer.headers.get('x-signalbox-decision-id');
      const decision = id && isAlone ? await (await live.box.get(`/v1/decisions/${id}`)).json() : null;
      const headers = Object.fromEntries(answer.headers);
      return settled({ status: answer.status, headers, content: contentOf(text), decision });
    }),
  );
  const sent = upstreams.map(({ requests: got }) => {
    const bodies = got.splice(0).map(({ path, text }) => settled({ path, text }));
    return isAlone ? bodies : bodies.map((body) => JSON.stringify(body)).sort();
  });
  return { statuses, seen: { answers, sent } };
}

const CODE = 'const a = "b\\\\c";\n';
const text = fc.oneof(
  fc.constantFrom(
    CODE.repeat(40),
    'Fix the parser in Rust.',
    'Error: expected 1 to be 2\nexit code: 1',
    'Thanks, that was all.',
  ),
  fc.constantFrom(
    'Write to ann@example.com.',
    'ann@example.com and bob@example.com',
    'the falcon',
    '潮 Köln "x" \\u0041',
  ),
);
const item: fc.Arbitrary<Item> = fc.record({
  kind: fc.constantFrom(...KINDS),
  text,
  isMarked: fc.boolean(),
});

const edit: fc.Arbitrary<Edit> = fc.record({
  kind: fc.oneof(
    { weight: 1, arbitrary: fc.constant('append' as const) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(...Object.keys(EDITS).filter((name): name is Edit['kind'] => name in EDITS)),
    },
  ),
  at: fc.nat(30),
  added: fc.array(item, { minLength: 1, maxLength: 4 }),
  words: text,
});

interface Turn extends Sending {
  readonly edit: Edit;
  /** The turn that is sent at the same time, and the model of both turns; null for none. */
  readonly other: { readonly edit: Edit; readonly model: string } | null;
  /** The models whose providers fail. */
  readonly failing: readonly string[];
  readonly behaviour: Behaviour;
  /** The policy from this turn on; null for the same policy. */
  readonly variant: number | null;
  /** The name of the dialect of this turn; null for the dialect of the session. */
  readonly dialect: string | null;
}

const DIALECTS = new Map(TURN_DIALECTS.map((dialect) => [dialect.name, dialect]));
const dialectName = fc.constantFrom(...DIALECTS.keys());
const turn: fc.Arbitrary<Turn> = fc.record({
  edit,
  other: fc.option(fc.record({ edit, model: fc.constantFrom(...namesIn(STEADY)) }), { freq: 6 }),
  model: fc.oneof({ weight: 3, arbitrary: fc.constant('auto') }, fc.constantFrom(...namesIn(FALLIBLE))),
  isStream: fc.boolean(),
  failing: fc.oneof(fc.constant([]), fc.subarray(namesIn(FALLIBLE))),
  behaviour: fc.constantFrom<Behaviour[]>(
    { text: 'Done.' },
    { text: 'Ask bob@example.com about the plan.' },
    { toolCalls: [{ name: 'read', arguments: '{"note":"ann@example.com"}' }] },
  ),
  variant: fc.option(fc.nat(VARIANTS.length - 1), { freq: 5 }),
  dialect: fc.option(dialectName, { freq: 8 }),
});
type Session = readonly [dialect: string, turns: readonly Turn[]];
const session: fc.Arbitrary<Session> = fc.tuple(dialectName, fc.array(turn, { minLength: 4, maxLength: 9 }));

let task = 0;
const counts = new Map<string, number>();
const step = (kind: Item['kind'], words: string): Item => ({ kind, text: words, isMarked: false });

function begun(): Conversation {
  const first = [step('user', `Task ${task++}: fix it. ${CODE.repeat(60)}`), step('call', CODE.repeat(20))];
  const items = [...first, step('assistant', 'I read it.'), step('user', 'Go on.'), step('call', 'done')];
  return { system: `You are an agent. ${CODE.repeat(20)}`, items, tools: CODE.repeat(10) };
}

/** Sends the turns of a session to both servers. @throws if anything differs */
async function compare([usual, turns]: Session): Promise<void> {
  let conversation = begun();
  time += SESSION_MS;
  for (const { dialect: changed, edit: next, other, failing, behaviour, variant, ...usually } of turns) {
    time += TURN_MS;
    if (variant !== null) await reload(variant);
    for (const { upstreams } of worlds)
      for (const [at, upstream] of upstreams.entries())
        upstream.behave(failing.includes(MODELS[at]!) ? { status: 500 } : behaviour);
    const sending = { ...usually, ...(other && { model: other.model }) };
    const dialect = DIALECTS.get(changed ?? usual)!;
    const sentOf = (one: Conversation): Sent => ({
      path: dialect.path(sending),
      body: JSON.stringify(dialect.body(one, sending)),
    });
    const before = conversation;
    conversation = edited(before, next);
    const requests = [conversation, ...(other ? [edited(before, other.edit)] : [])].map(sentOf);
    const [found, expected] = [await seenOf(worlds[0], requests), await seenOf(worlds[1], requests)];
    expect(found.seen).toEqual(expected.seen);
    for (const status of found.statuses) {
      const name = `${dialect.name} ${status}`;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
}

test('in every dialect, kept turns change nothing that callers, providers and operators see', async () => {
  await fc.assert(fc.asyncProperty(session, compare), {
    ...tries('kept turns change nothing', 2, 100),
    endOnFailure: true,
  });
  for (const { name } of TURN_DIALECTS) expect(counts.get(`${name} 200`) ?? 0).toBeGreaterThan(1);
  expect(await keptBy(worlds[0].live.box)).toBeGreaterThan(0);
  expect(await keptBy(worlds[1].live.box)).toBe(0);
});

/** The methods of a mutant. Each mutant keeps what was read or derived from an earlier turn although the part was edited. */
interface Mutant {
  readonly owner: object;
  readonly methods: object;
  /** An edit that the mutant does not notice. */
  readonly kind: Edit['kind'];
}

const { read } = KeptConversations.prototype;
const valuesOf = ListValues.prototype.of;
type Lists = ListValues<unknown, unknown>;
type Body = NonNullable<ReturnType<KeptConversations['read']>>;

/** Reads bodies, and lets `change` replace members by members of the body before. */
function staleReader(change: (body: Body, before: Body) => object): object {
  let before: Body | null = null;
  return {
    read(this: KeptConversations, bytes: Buffer, reading: KeptReading) {
      const body = read.call(this, bytes, reading);
      // The other server does not call this method, because it keeps nothing.
      if (body && before) Object.assign(body, change(body, before));
      before = body && { ...body };
      return body;
    },
  };
}

const listIn = ({ messages, input }: Body): readonly unknown[] => [messages ?? input].flat();

/** Lists of values that keep the values of an item although it was edited. */
function staleLists(): object {
  const kept = new WeakMap<Lists, WeakMap<ListMemory, { readonly values: unknown[]; readonly ends: number[] }>>();
  return {
    of(this: Lists, ...[list, key, add]: Parameters<Lists['of']>) {
      const memory = memoryOf(list);
      if (!memory) return valuesOf.call(this, list, key, add);
      const memories = kept.get(this) ?? new WeakMap();
      kept.set(this, memories);
      const known = memories.get(memory) ?? { values: [], ends: [] };
      const same = Math.min(known.ends.length, list.length);
      const values = known.values.slice(0, same === 0 ? 0 : known.ends[same - 1]);
      const ends = known.ends.slice(0, same);
      for (let at = same; at < list.length; at++) {
        add(list[at], at, values);
        ends.push(values.length);
      }
      memories.set(memory, { values: values.slice(), ends });
      remember(values, memory);
      return values;
    },
  };
}

const MUTANTS: Readonly<Record<string, () => Mutant>> = {
  'messages that were edited': () => ({
    owner: KeptConversations.prototype,
    methods: staleReader((body, before) => {
      const list = [...listIn(before), ...listIn(body).slice(listIn(before).length)];
      return body.messages ? { messages: list } : { input: list };
    }),
    kind: 'reword',
  }),
  'tools that were edited': () => ({
    owner: KeptConversations.prototype,
    methods: staleReader((_, { tools }) => ({ tools })),
    kind: 'tools',
  }),
  'values of messages that were edited': () => ({
    owner: ListValues.prototype,
    methods: staleLists(),
    kind: 'reword',
  }),
};

const turnWith = (kind: Edit['kind'], words: string): Turn => ({
  edit: { kind, at: 2, added: [step('call', 'next')], words },
  ...{ other: null, model: 'chat', isStream: false, failing: [], behaviour: {}, variant: null, dialect: null },
});

/** A session whose fourth turn has an edit. */
const sessionWith = (dialect: string, kind: Edit['kind']): Session => [
  dialect,
  [...[1, 2, 3].map((at) => turnWith('append', `${at}`)), turnWith(kind, 'Stop. Write a poem instead.')],
];

// The lists of Gemini's API are parsed whole.
const KEEPING = ['chat', 'messages', 'responses'];
const CASES = KEEPING.flatMap((dialect) =>
  Object.entries(MUTANTS).map(([name, mutant]) => [dialect, name, mutant] as const),
);
test.each(someOf(CASES))('in the dialect %s, the law rejects a server that keeps %s', async (dialect, _, mutant) => {
  await reload(0);
  const { owner, methods, kind } = mutant();
  await compare(sessionWith(dialect, kind));
  const before = Object.getOwnPropertyDescriptors(owner);
  Object.assign(owner, methods);
  try {
    await expect(compare(sessionWith(dialect, kind))).rejects.toThrow();
  } finally {
    Object.defineProperties(owner, before);
  }
});
