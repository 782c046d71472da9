import { expect, test } from 'bun:test';
import { benchPolicy } from '../../bench/policy.ts';
import { shipped } from '../../plugins/index.ts';
import { type ListMemory, ListTotal, ListValues, memoryOf, remember } from '../../src/core/json/list-memory.ts';
import { objectOf } from '../../src/core/json/object.ts';
import { isShared, SharedValues } from '../../src/core/json/shared-values.ts';
import { writtenText } from '../../src/core/json/source.ts';
import { OPERATOR } from '../../src/core/people/caller.ts';
import { messageOf } from '../../src/core/thrown.ts';
import { readChat } from '../../src/dialects/openai-chat/read-body.ts';
import { readChatRequest } from '../../src/dialects/openai-chat/reader.ts';
import { Affinity } from '../../src/gateway/prompt/affinity.ts';
import { checkRequest } from '../../src/gateway/request/check-request.ts';
import { createRegistry } from '../../src/host/plugins/registry.ts';
import { processTimers } from '../../src/host/telemetry/process-timers.ts';
import { KeptConversations } from '../../src/http/kit/kept-conversations.ts';
import { loadPolicy } from '../../src/policy/load.ts';
import { buildRuntime, type Runtime } from '../../src/policy/runtime/runtime.ts';
import { chatFacts } from '../../src/routing/facts.ts';
import { openaiAdapter, providerCall } from '../support/provider-call.ts';

/**
 * What a conversation keeps is derived from its messages and tools. The law: after any edit, all that a caller, an operator and a provider
 * can see equals what a request without kept values gives. Each table of kept values is tested with a mutant that keeps the values of a
 * part although the part was edited.
 */
const runtime = openRuntime();
const { snapshot, reader } = runtime;
const adapter = openaiAdapter({ unknown_members: 'left_out', cache_hints: 'left_out' });
const upstream = runtime.upstreams[0]![0]!;
const CODE = 'const a = "b";\n'.repeat(30);

/** Prepares a policy whose provider has a cache, so that hashes of messages decide how much of a prompt is cached. */
function openRuntime(): Runtime {
  const registry = createRegistry(shipped);
  const text = benchPolicy('http://127.0.0.1:9/v1').replace(
    'adapter:',
    'cache_ttl_s: 300, cache_min_tokens: 1, adapter:',
  );
  const env = { get: () => undefined };
  const loaded = loadPolicy([{ path: 'policy.yaml', text }], { env, ...registry, revisionOf: () => 'kept' });
  return buildRuntime(loaded.snapshot!, registry, env);
}

type Message = Readonly<Record<string, unknown>>;
interface Body {
  readonly messages: readonly Message[];
  readonly tools: readonly object[];
}

/** Each part has a mark of its own in its text, by which mutants find the values of the part before its edit. */
const mark = (name: string | number): string => `<<${name}>>`;
const tool = (name: string) => ({
  type: 'function',
  function: { name, description: `${mark('tools')} ${'x'.repeat(300)}`, parameters: { type: 'object' } },
});
const callIn = (at: number, name: string, args: object): Message => ({
  role: 'assistant',
  content: null,
  tool_calls: [
    { id: `c${at}`, type: 'function', function: { name, arguments: JSON.stringify({ ...args, note: mark(at) }) } },
  ],
});
/** The number of times that the agent fails: more results than `stuckSigns` reads. */
const STEPS = 36;
const resultIn = (at: number, text: string): Message => ({
  role: 'tool',
  tool_call_id: `c${at - 1}`,
  content: `${text} ${mark(at)}`,
});
const FAILURE = 'FAIL a.test.ts\nError: expected 1 to be 2\nexit code: 1';

/** An agent that edits a file and fails the same test, again and again. */
const base: Body = {
  messages: [
    { role: 'system', content: `${mark(0)} You are a coding agent. ${CODE.repeat(12)}` },
    { role: 'user', content: `${mark(1)} Fix the failing test of the parser in Rust.` },
    ...Array.from({ length: STEPS }, (_, step) => [
      callIn(4 * step + 2, 'edit', { file_path: 'a.ts', old_string: `a${step}`, new_string: `b${step}` }),
      resultIn(4 * step + 3, 'done'),
      callIn(4 * step + 4, 'run', { command: 'npm test' }),
      resultIn(4 * step + 5, FAILURE),
    ]).flat(),
  ],
  tools: [tool('edit'), tool('run')],
};

const withMessage = (at: number, message: Message): Body => ({ ...base, messages: base.messages.with(at, message) });
/** Another text of a message, with its mark. */
const says = (at: number, content: string): Body =>
  withMessage(at, { ...base.messages[at], content: `${mark(at)} ${content}` });
/** The index of the agent's last call but one; only the last calls decide whether the agent is stuck. */
const LATE = 4 * STEPS;
const call = base.messages[LATE]!;
const [made] = call.tool_calls as readonly [Message];

/** The edits by which most mutants break the law come first, because a mutant is tested until the first of them. */
const EDITS: Readonly<Record<string, Body>> = {
  'another result': withMessage(LATE + 1, resultIn(LATE + 1, 'All tests passed.\nexit code: 0')),
  'other names of tools': { ...base, tools: [tool('weather'), tool('parser')] },
  'a call of another kind': withMessage(LATE, { ...call, tool_calls: [{ ...made, type: 'custom' }] }),
  'an address in a private network': withMessage(9, {
    role: 'user',
    content: [
      { type: 'text', text: mark(9) },
      { type: 'image_url', image_url: { url: 'http://10.0.0.1/a.png' } },
    ],
  }),
  'state of a model': withMessage(LATE, { ...call, reasoning_details: [{ type: 'reasoning.encrypted', data: 'x' }] }),
  'another call': withMessage(LATE, callIn(LATE, 'read', { file_path: 'b.ts' })),
  'a message of the user in the middle': withMessage(9, {
    role: 'user',
    content: `${mark(9)} Stop. Instead write a poem about the sea, and nothing about code any more, please, in French.`,
  }),
  'a result instead of a call': withMessage(8, { role: 'tool', tool_call_id: 'c9', content: `${mark(8)} done` }),
  'a mark of the cache': withMessage(9, { ...base.messages[9], cache_control: { type: 'ephemeral', ttl: '1h' } }),
  'a missing content': withMessage(7, { role: 'user', name: mark(7) }),
  'another system prompt': says(0, `You translate texts. ${CODE.repeat(14)}`),
  'another question': says(1, 'Thanks a lot, that was all. Have a good day!'),
  'a question about a tool': says(1, 'Please edit it.'),
  'a result instead of a question': withMessage(1, { role: 'tool', tool_call_id: 'c9', content: `${mark(1)} done` }),
  'a content of the wrong type': withMessage(7, { role: 'user', content: 7, name: mark(7) }),
  'fewer messages': { ...base, messages: base.messages.slice(0, 120) },
  none: base,
};

/** The figures of an answer, whose prompt is then in the cache of its provider. */
const SETTLED = { inputTokens: 5_000, at: 0 };

/** Returns all that callers, operators and providers see of a body. */
function outcome(body: unknown, affinity: Affinity): unknown {
  try {
    const request = readChatRequest(readChat(body));
    checkRequest(request, snapshot.gateway);
    const history = affinity.history('key', request);
    const facts = chatFacts(request, OPERATOR, snapshot, { reader, readings: runtime.readings() });
    const recalled = history.recall(facts, snapshot);
    history.noteAnswer(upstream, { ...SETTLED, expectedTokens: facts.inputTokens }, { mark: 0 }, snapshot);
    const call = { ...providerCall(), request };
    const sent = adapter.request(call);
    if ('kind' in sent) throw new Error(sent.message);
    const { conversation, toolsText, original } = request;
    const read = { conversation, toolsText, body: original.body, state: history.bearsState };
    return JSON.parse(JSON.stringify({ recalled, read, dropped: sent.dropped, sent: JSON.parse(writtenText(sent)) }));
  } catch (error) {
    return { error: messageOf(error), param: objectOf(error).param };
  }
}

/** A body of a conversation with further calls, so that it is a later turn. */
function bytesOf({ messages, tools }: Body, more: number): Buffer {
  const added = Array.from({ length: more }, (_, step) => [
    callIn(500 + 2 * step, 'list', { path: 'src' }),
    resultIn(501 + 2 * step, 'a.ts'),
  ]);
  return Buffer.from(JSON.stringify({ model: 'auto', messages: [...messages, ...added.flat()], tools }));
}

/** Reads five turns of a conversation. The last two have an edit. @returns the outcome of each turn */
function outcomes(edited: Body, keeps: boolean): readonly unknown[] {
  const kept = new KeptConversations(() => 0, processTimers);
  const affinity = new Affinity(() => 0);
  const reading = { keyId: 'key', generation: 0, bytesMax: 2 ** 26, valuesMax: 10_000 };
  return [bytesOf(base, 0), bytesOf(base, 1), bytesOf(base, 2), bytesOf(edited, 3), bytesOf(edited, 4)].map((bytes) => {
    const body = keeps ? (kept.read(bytes, reading) ?? JSON.parse(bytes.toString())) : JSON.parse(bytes.toString());
    return outcome(body, affinity);
  });
}

const EXPECTED = new Map(Object.entries(EDITS).map(([edit, body]) => [edit, outcomes(body, false)]));

/** Returns the first edit after which kept values change what can be seen; null for none. */
function firstWrongEdit(): string | null {
  for (const [edit, body] of Object.entries(EDITS))
    if (!Bun.deepEquals(outcomes(body, true), EXPECTED.get(edit))) return edit;
  return null;
}

/** Runs a function with other methods of a class. */
function withMethods<Result>(owner: object, methods: object, run: () => Result): Result {
  const before = Object.getOwnPropertyDescriptors(owner);
  Object.assign(owner, methods);
  try {
    return run();
  } finally {
    Object.defineProperties(owner, before);
  }
}

type Table = SharedValues<object, unknown>;
const { get, set } = SharedValues.prototype;
const markOf = (part: object): string => /<<(\w+)>>/.exec(JSON.stringify(part))?.[1] ?? '';

/** Whether code compares a kept value with the part before it uses the value, so that a stale value does no harm. */
const isCompared = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && ('hasRead' in value || 'text' in value);

/** Runs the law with a table that keeps the values of a part although it was edited. */
function withStaleTable(table: Table): string | null {
  const kept = new Map<string, unknown>();
  const stale = {
    get(this: Table, part: object) {
      const own = get.call(this, part);
      return own !== undefined || this !== table || !isShared(part) ? own : kept.get(markOf(part));
    },
    set(this: Table, part: object, value: unknown) {
      if (this === table && isShared(part)) kept.set(markOf(part), value);
      return set.call(this, part, value);
    },
  };
  return withMethods(SharedValues.prototype, stale, firstWrongEdit);
}

type Lists = ListValues<unknown, unknown>;
type Totals = ListTotal<unknown, unknown>;
const valuesOf = ListValues.prototype.of;
const totalOf = ListTotal.prototype.of;

/** The code that keeps values of the conversation, other than tables whose values are compared. */
interface Used {
  readonly tables: ReadonlySet<Table>;
  readonly lists: ReadonlySet<Lists>;
  readonly totals: ReadonlySet<Totals>;
  /** The first edit after which kept values change what can be seen; null for none. */
  readonly wrongEdit: string | null;
}

/** Runs the law, and notes what keeps values. */
function noteUsed(): Used {
  const [tables, compared, lists, totals] = [new Set<Table>(), new Set<Table>(), new Set<Lists>(), new Set<Totals>()];
  const notingTables = {
    set(this: Table, part: object, value: unknown) {
      if (isShared(part)) (isCompared(value) ? compared : tables).add(this);
      return set.call(this, part, value);
    },
  };
  const notingLists = {
    of(this: Lists, ...args: Parameters<Lists['of']>) {
      if (memoryOf(args[0])) lists.add(this);
      return valuesOf.apply(this, args);
    },
  };
  const notingTotals = {
    of(this: Totals, ...args: Parameters<Totals['of']>) {
      if (memoryOf(args[0])) totals.add(this);
      return totalOf.apply(this, args);
    },
  };
  const wrongEdit = withMethods(SharedValues.prototype, notingTables, () =>
    withMethods(ListValues.prototype, notingLists, () =>
      withMethods(ListTotal.prototype, notingTotals, firstWrongEdit),
    ),
  );
  return { tables: tables.difference(compared), lists, totals, wrongEdit };
}

/** Runs the law with lists of values that keep the values of an item although it was edited. */
function withStaleValues(lists: Lists): string | null {
  const kept = new WeakMap<ListMemory, { readonly values: unknown[]; readonly ends: number[] }>();
  const stale = {
    of(this: Lists, ...[list, key, add]: Parameters<Lists['of']>) {
      const memory = memoryOf(list);
      if (this !== lists || !memory) return valuesOf.call(this, list, key, add);
      const known = kept.get(memory) ?? { values: [], ends: [] };
      const same = Math.min(known.ends.length, list.length);
      const values = same === 0 ? [] : known.values.slice(0, known.ends[same - 1]);
      const ends = known.ends.slice(0, same);
      for (let at = same; at < list.length; at++) {
        add(list[at], at, values);
        ends.push(values.length);
      }
      kept.set(memory, { values: values.slice(), ends });
      remember(values, memory);
      return values;
    },
  };
  return withMethods(ListValues.prototype, stale, firstWrongEdit);
}

/** Runs the law with a total that still contains an item that was edited. */
function withStaleTotal(totals: Totals): string | null {
  const kept = new WeakMap<ListMemory, { readonly total: unknown; readonly length: number }>();
  const stale = {
    of(this: Totals, ...[list, add]: Parameters<Totals['of']>) {
      const memory = memoryOf(list);
      if (this !== totals || !memory) return totalOf.call(this, list, add);
      const known = kept.get(memory);
      let total = known?.total;
      if (known === undefined) total = totalOf.call(this, list.slice(), add);
      else for (let at = known.length; at < list.length; at++) total = add(total, list[at], at);
      kept.set(memory, { total, length: list.length });
      return total;
    },
  };
  return withMethods(ListTotal.prototype, stale, firstWrongEdit);
}

const used = noteUsed();

test('after every edit of a conversation, requests are read and sent as if nothing were kept', () => {
  expect(used.wrongEdit).toBeNull();
});

test('the law rejects every table that keeps the values of a part, such as a text or names of tools, although the part was edited', () => {
  const harmless = [...used.tables].filter((table) => withStaleTable(table) === null);
  expect(harmless).toEqual([]);
});

test('the law rejects every list of values, and every total, that keeps an item although it was edited', () => {
  const { tables, lists, totals } = used;
  expect([...lists].filter((one) => withStaleValues(one) === null)).toEqual([]);
  expect([...totals].filter((one) => withStaleTotal(one) === null)).toEqual([]);
  expect(Math.min(tables.size, lists.size, totals.size)).toBeGreaterThan(4);
});
