import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { SignalboxError } from '../../src/core/errors.ts';
import { isObject } from '../../src/core/json/object.ts';
import { type OriginalPath, valueAt, withEdits } from '../../src/core/json/original.ts';
import type { ModelRequest } from '../../src/core/request/model-request.ts';
import { wrappedSignature } from '../../src/dialects/google-gemini/signature.ts';
import type { AnswerRoute } from '../../src/dialects/surface.ts';
import { SURFACES } from '../../src/dialects/surfaces.ts';
import { editsOf, textsOfRequest } from '../../src/gateway/guards/request-texts.ts';
import { tries } from '../deep/effort.ts';
import { FULL_BODIES } from '../gateway/guards/bodies.ts';

/**
 * The law: any text that a caller puts anywhere into a request, as a value or as the name of a member, is among the texts that guards
 * inspect, or its place is in this list. If a guard may change the text, the request that models receive no longer has it.
 */
const NOT_INSPECTED: readonly RegExp[] = [
  // No provider receives these, or they must be in the catalog.
  /^model$/,
  // IDs that other parts of the conversation refer to.
  /(?:^|\.)(?:id|tool_call_id|tool_use_id|call_id|file_id|container|prompt_cache_key)$/,
  // State that only its model can read, in thoughts and in results of a provider's own tools.
  /^messages\.\d+\.(?:content|reasoning_details)\.\d+\.signature$/,
  /^(?:input\.\d+|messages\.\d+\.content\.\d+\.content\.\d+)\.encrypted_content$/,
  /^messages\.\d+\.content\.\d+\.data$/,
  // The server of a remote tool needs its credential.
  /^tools\.\d+\.authorization$/,
];

const isListed = (path: OriginalPath): boolean => NOT_INSPECTED.some((one) => one.test(path.join('.')));

const CANARY = 'c4nary-text';

interface Leaf {
  readonly dialect: string;
  readonly at: OriginalPath;
  /** The place inside the JSON of a call's arguments; null for a place of the body. */
  readonly inside: OriginalPath | null;
  /** Whether the canary is the name of a new member at this place. */
  readonly isName: boolean;
}

function leavesOf(dialect: string, value: unknown, at: OriginalPath = []): Leaf[] {
  if (typeof value === 'string') {
    const inner: unknown = at.at(-1) === 'arguments' ? JSON.parse(value) : undefined;
    const own: Leaf = { dialect, at, inside: null, isName: false };
    return inner === undefined ? [own] : leavesOf(dialect, inner).map((leaf) => ({ ...leaf, at, inside: leaf.at }));
  }
  if (Array.isArray(value)) return value.flatMap((item, index) => leavesOf(dialect, item, [...at, index]));
  if (!isObject(value)) return [];
  const name: Leaf = { dialect, at, inside: null, isName: true };
  return [name, ...Object.entries(value).flatMap(([key, member]) => leavesOf(dialect, member, [...at, key]))];
}

const LEAVES = Object.entries(FULL_BODIES).flatMap(([dialect, body]) => leavesOf(dialect, body));

/** Puts the canary at a place. */
function planted(value: object, at: OriginalPath, isName: boolean): object {
  const before = valueAt(value, at);
  if (isName && isObject(before)) {
    const named = { ...before, [CANARY]: 'x' };
    return at.length === 0 ? named : withEdits(value, [{ at, value: named }]);
  }
  return withEdits(value, [{ at, value: `${String(before)} ${CANARY}` }]);
}

function bodyWith({ dialect, at, inside, isName }: Leaf): object {
  const body = FULL_BODIES[dialect]!;
  if (inside === null) return planted(body, at, isName);
  const inner: object = JSON.parse(String(valueAt(body, at)));
  return withEdits(body, [{ at, value: JSON.stringify(planted(inner, inside, isName)) }]);
}

/** Reads a body in its dialect; null for a body that the API refuses. */
function readBody(dialect: string, body: object): ModelRequest | null {
  const surface = SURFACES.find(({ name }) => name === dialect)!;
  const route = surface.routes.find((one): one is AnswerRoute => one.kind === 'answer')!;
  try {
    return route.read({ body: structuredClone(body), headers: new Headers(), params: {}, query: '' }).request;
  } catch (cause) {
    if (cause instanceof SignalboxError) return null;
    throw cause;
  }
}

type Reader = (request: ModelRequest) => { readonly texts: readonly { readonly text: string }[] };

/** Returns the places whose text a reader misses. */
const holds = (read: Reader) => (leaf: Leaf) => {
  const request = readBody(leaf.dialect, bodyWith(leaf));
  if (request === null || (!leaf.isName && leaf.inside === null && isListed(leaf.at))) return true;
  return read(request).texts.some(({ text }) => text.includes(CANARY));
};

/** A walker over the messages alone, as the neutral form has them. */
const overTurns: Reader = ({ conversation: { turns } }) => ({
  texts: turns.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'text' ? [part] : []))),
});
/** A walker that leaves out the names of members. */
const withoutNames: Reader = (request) => ({
  texts: textsOfRequest(request).texts.filter(({ kind }) => kind !== 'name'),
});
/** A walker that reads arguments without parsing them. */
const ofMessages: Reader = (request) => ({ texts: textsOfRequest(request).texts.filter(({ role }) => role !== null) });

describe('the texts of a request', () => {
  test('contain every text in every place of every dialect, except in the listed places', () => {
    expect(LEAVES.filter((leaf) => !holds(textsOfRequest)(leaf))).toEqual([]);
    // Most places accept the canary; otherwise the law would say nothing.
    const read = LEAVES.filter((leaf) => readBody(leaf.dialect, bodyWith(leaf)) !== null);
    expect(read.length / LEAVES.length).toBeGreaterThan(0.7);
  });

  test.each([
    ['reads only messages', overTurns],
    ['leaves out names', withoutNames],
    ['leaves out what belongs to no message', ofMessages],
  ])('the law finds a walker that %s', (_, mutant) => {
    expect(LEAVES.every(holds(mutant))).toBeFalse();
  });

  const CHAT = FULL_BODIES['openai-chat']!;
  test.each([
    ['a member whose name looks like the location of a medium', 'messages.2.content.1.image_url.url', CANARY],
    ['a member whose name looks like the location of a call', 'messages.3.tool_calls.0.function.arguments', CANARY],
    ['fallbacks, which a provider receives if the gateway ignores them', 'fallbacks', [{ note: CANARY }]],
    ['models, which a provider receives if the gateway ignores them', 'models', [CANARY]],
  ])('contain %s', (_, name, value) => {
    const { texts } = textsOfRequest(readBody('openai-chat', { ...CHAT, [name]: value })!);
    expect(texts.filter(({ text, kind }) => text === CANARY && kind !== 'name')).toHaveLength(1);
  });

  test('contain every value of a result in the dialect of Gemini, and the state that Signalbox wrapped', () => {
    const thoughtSignature = wrappedSignature({ details: [{ type: 'reasoning.text', text: CANARY }] });
    const response = { id: 'an-id', signature: 'a-signature', card: 4111111111111111 };
    const contents = [
      { role: 'model', parts: [{ functionCall: { name: 'look', args: {} }, thoughtSignature }] },
      { role: 'user', parts: [{ functionResponse: { name: 'look', response } }, { text: 'Hi.' }] },
    ];
    const { texts } = textsOfRequest(readBody('google-gemini', { model: 'best', contents })!);
    for (const value of [CANARY, 'an-id', 'a-signature', '4111111111111111'])
      expect(texts.map(({ text }) => text)).toContain(value);
    expect(texts.find(({ text }) => text === 'Hi.')).toMatchObject({ kind: 'text', role: 'user' });
  });

  test('contain the prompt of a completion as a text of the user', () => {
    const { texts } = textsOfRequest(readBody('openai-completions', { model: 'best', prompt: 'Hi.', suffix: 'Bye.' })!);
    const own = texts.filter(({ text }) => text === 'Hi.' || text === 'Bye.');
    expect(own.map(({ kind, role }) => [kind, role])).toEqual([
      ['text', 'user'],
      ['text', 'user'],
    ]);
  });

  test('contain every text of arguments that are nested too deeply for a walk over their values', () => {
    const args = `${'['.repeat(10_000)}{"a\\u0062c":"d\\u0065f"}${']'.repeat(10_000)}`;
    const message = {
      role: 'assistant',
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: args } }],
    };
    const { texts } = textsOfRequest(readBody('openai-chat', { model: 'best', messages: [message] })!);
    const own = texts.filter(({ text, isFixed }) => isFixed && (text === 'abc' || text === 'def' || text === args));
    expect(own).toHaveLength(3);
  });

  test('contain the headers that a provider receives with the body', () => {
    const headers = new Headers({ 'anthropic-beta': CANARY });
    const { routes } = SURFACES.find(({ name }) => name === 'anthropic-messages')!;
    const route = routes.find((one): one is AnswerRoute => one.kind === 'answer' && one.operation === 'chat')!;
    const body = structuredClone(FULL_BODIES['anthropic-messages']);
    const { request } = route.read({ body, headers, params: {}, query: '' });
    expect(textsOfRequest(request).texts.filter(({ text, isFixed }) => text === CANARY && isFixed)).toHaveLength(1);
  });

  test('a text that may change is no longer in the request after its edit', () => {
    const all = fc.subarray(LEAVES, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(all, (leaves) => {
        const [first] = leaves;
        const request = readBody(first!.dialect, bodyWith(first!));
        if (request === null) return;
        const { texts } = textsOfRequest(request);
        const found = texts.filter(({ text, isFixed }) => text.includes(CANARY) && !isFixed);
        const edited = request.edit(
          editsOf(request, new Map(found.map((one) => [one, one.text.replaceAll(CANARY, '*')]))),
        );
        const left = JSON.stringify(edited.original.body).includes(CANARY);
        const isFixed = texts.some((one) => one.text.includes(CANARY) && one.isFixed);
        expect(left && !isFixed && !isListed(first!.at)).toBeFalse();
      }),
      tries('guard-texts', 150, 5_000),
    );
  });
});
