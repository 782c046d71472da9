import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { GuardMatch, GuardText, PreparedGuard } from '../../src/contract/guard.ts';
import { SignalboxError } from '../../src/core/errors.ts';
import { writeJson, writtenText } from '../../src/core/json/source.ts';
import type { GuardRule } from '../../src/core/policy/guards.ts';
import type { ModelRequest } from '../../src/core/request/model-request.ts';
import type { AnswerRoute } from '../../src/dialects/surface.ts';
import { SURFACES } from '../../src/dialects/surfaces.ts';
import { type EarlierMatches, guardInput } from '../../src/gateway/guards/guard-input.ts';
import type { RunningGuard } from '../../src/gateway/guards/guard-runtime.ts';
import { KeptMatches } from '../../src/gateway/guards/kept-matches.ts';
import { Placeholders } from '../../src/gateway/guards/placeholders.ts';
import type { RequestText } from '../../src/gateway/guards/text-walk.ts';
import { Verdicts } from '../../src/gateway/guards/verdicts.ts';
import { Affinity } from '../../src/gateway/prompt/affinity.ts';
import { processTimers } from '../../src/host/telemetry/process-timers.ts';
import { AT_ONCE } from '../../src/host/turns.ts';
import { KeptConversations } from '../../src/http/kit/kept-conversations.ts';
import { tries } from '../deep/effort.ts';

/**
 * The law: for any turns of any conversations under any policies, a server that keeps verdicts gives each request the verdicts, the error,
 * the placeholders and the forwarded text of a server that inspects everything, and no turn of a key changes which texts a guard inspects
 * for another key.
 */

// What the guards of the law find.

const placesOf = (texts: readonly GuardText[], kind: string, word: string): readonly GuardMatch[] =>
  texts.flatMap(({ text }, index) =>
    [...text.matchAll(new RegExp(word, 'g'))].map(({ index: from }) => ({
      kind,
      at: { text: index, from, to: from + word.length },
    })),
  );

const isTextOf = (wanted: string, { role, text }: GuardText) => role === wanted && text.includes('zz');
const isIn = (texts: readonly GuardText[], wanted: GuardText['kind'], word: string) =>
  texts.some(({ kind, text }) => kind === wanted && text.includes(word));

/** Guards by the name of their plugin. Each takes one word as its settings. */
const PLUGINS = {
  word: { isPure: true, window: 'message', find: (texts, word) => placesOf(texts, 'word', word) },
  speaker: {
    ...{ isPure: true, window: 'message' },
    find: (texts, word) => (texts.some((one) => isTextOf(word, one)) ? [{ kind: 'speaker' }] : []),
  },
  danger: {
    ...{ isPure: true, window: 'call' },
    find: (texts, word) =>
      isIn(texts, 'tool_arguments', word) && isIn(texts, 'text', 'k-') ? placesOf(texts, 'danger', 'k-') : [],
  },
  moody: {
    ...{ isPure: false, window: 'message' },
    find: (_, _word, calls) => (calls % 3 === 0 ? [{ kind: 'moody' }] : []),
  },
} as const satisfies Record<
  string,
  Pick<GuardRule, 'isPure' | 'window'> & {
    find(texts: readonly GuardText[], word: string, calls: number): readonly GuardMatch[];
  }
>;

interface GuardSetting {
  readonly plugin: keyof typeof PLUGINS;
  readonly word: string;
  readonly onMatch: GuardRule['onMatch'];
}
type Policy = readonly GuardSetting[];

/** One server. Its guards note the texts that they inspect. */
class World {
  readonly calls: string[] = [];
  readonly #conversations: KeptConversations | null;
  readonly #policies: readonly (readonly RunningGuard[])[];
  readonly #affinity = new Affinity(() => 0);
  readonly #keep: Keep;

  /** @param keeping null for a server that inspects everything */
  constructor(policies: readonly Policy[], keeping: Keeping | null) {
    this.#keep = keeping ? keeping() : () => null;
    this.#conversations = keeping && new KeptConversations(() => 0, processTimers);
    this.#policies = policies.map((policy) => policy.map((setting, at) => this.#guardOf(setting, at)));
  }

  #guardOf({ plugin, word, onMatch }: GuardSetting, at: number): RunningGuard {
    const { isPure, window, find } = PLUGINS[plugin];
    let calls = 0;
    const check: PreparedGuard['check'] = ({ texts }) => {
      this.calls.push(`${plugin} ${word} ${JSON.stringify(texts)}`);
      return find(texts, word, calls++);
    };
    return {
      rule: {
        ...{
          name: `${plugin}-${at}`,
          place: { file: '', line: 1, column: 1 },
          plugin,
          settings: { word },
          isPure,
          window,
        },
        ...{ when: null, on: ['input'], onMatch, onFailure: 'block', deadlineMs: 60_000, buffersWhole: false },
        ...{ unmask: ['text'], refuse: [] },
      },
      prepared: { kinds: [plugin], check },
    };
  }

  /** Carries out a turn, and returns everything that a caller, a provider or a record can see of it. */
  turn({ keyId, policy, dialect, text }: Turn): object {
    const request = this.#read(keyId, dialect, text);
    if (request === null) return { refused: true };
    const guards = this.#policies[policy % this.#policies.length]!;
    const verdicts = new Verdicts();
    const placeholders = new Placeholders(() => this.#affinity.conversationSecret(keyId, request));
    const context = {
      verdicts,
      placeholders,
      timers: processTimers,
      turns: AT_ONCE,
      clock: () => 0,
      signal: () => undefined,
      onFailure: () => {},
    };
    try {
      const guarded = guardInput(request, guards, { ...context, kept: this.#keep(request, guards, keyId) });
      if (guarded instanceof Promise) throw new Error('a guard of the law returned a promise');
      const { body } = guarded.original;
      const sent: unknown = JSON.parse(writtenText(writeJson(body, body)));
      const values = (JSON.stringify(sent).match(/\[[a-z]+:[a-p]{12}\]/g) ?? []).map((one) =>
        placeholders.valueAt('text', one),
      );
      return { sent, body: JSON.stringify(body), values, verdicts: verdicts.all, counts: verdicts.inputCounts };
    } catch (cause) {
      if (!(cause instanceof SignalboxError)) throw cause;
      return { error: cause.toString(), verdicts: verdicts.all };
    }
  }

  #read(keyId: string, dialect: string, text: string): ModelRequest | null {
    const reading = { keyId: `${keyId} ${dialect}`, generation: 0, bytesMax: 1e9, valuesMax: 1e6 };
    const body: unknown = this.#conversations?.read(Buffer.from(text), reading) ?? JSON.parse(text);
    const surface = SURFACES.find(({ name }) => name === dialect)!;
    const route = surface.routes.find((one): one is AnswerRoute => one.kind === 'answer' && one.operation === 'chat')!;
    try {
      return route.read({ body, headers: new Headers(), params: {}, query: '' }).request;
    } catch (cause) {
      if (cause instanceof SignalboxError) return null;
      throw cause;
    }
  }
}

type Keep = (request: ModelRequest, guards: readonly RunningGuard[], keyId: string) => EarlierMatches | null;
/** Begins to keep the verdicts of one server. */
type Keeping = () => Keep;
const real: Keep = (request, guards) => KeptMatches.of(request, guards);

// The conversations of the law.

interface Turn {
  readonly keyId: string;
  readonly policy: number;
  readonly dialect: string;
  readonly text: string;
}

/** A call of a tool with its result, or a text. */
type Message = { readonly text: string } | { readonly call: string; readonly result: string };

interface Body {
  readonly messages: readonly Message[];
  readonly system: string;
  readonly tools: readonly object[];
}

const DIALECTS: Readonly<Record<string, (body: Body) => object>> = {
  'openai-chat': ({ messages, system, tools }) => ({
    messages: [
      { role: 'system', content: system },
      ...messages.flatMap((message, at): object[] =>
        'text' in message
          ? [{ role: at % 2 === 0 ? 'user' : 'assistant', content: message.text, ...(at === 2 && { name: null }) }]
          : [
              {
                role: 'assistant',
                content: null,
                tool_calls: [
                  { id: `c${at}`, type: 'function', function: { name: 'f', arguments: argumentsOf(message.call) } },
                ],
              },
              { role: 'tool', tool_call_id: `c${at}`, content: message.result },
            ],
      ),
    ],
    ...(tools.length > 0 && {
      tools: tools.map((parameters) => ({ type: 'function', function: { name: 'f', parameters } })),
    }),
  }),
  'anthropic-messages': ({ messages, system, tools }) => ({
    max_tokens: 10,
    system: system.length % 2 === 0 ? system : [{ type: 'text', text: system }],
    messages: messages.flatMap((message, at): object[] =>
      'text' in message
        ? [{ role: at % 2 === 0 ? 'user' : 'assistant', content: message.text }]
        : [
            { role: 'assistant', content: [{ type: 'tool_use', id: `c${at}`, name: 'f', input: { a: message.call } }] },
            { role: 'user', content: [{ type: 'tool_result', tool_use_id: `c${at}`, content: message.result }] },
          ],
    ),
    ...(tools.length > 0 && { tools: tools.map((input_schema) => ({ name: 'f', input_schema })) }),
  }),
  'openai-responses': ({ messages, system, tools }) => ({
    instructions: system,
    input: messages.flatMap((message, at): object[] =>
      'text' in message
        ? [{ role: at % 2 === 0 ? 'user' : 'assistant', content: message.text }]
        : [
            { type: 'function_call', call_id: `c${at}`, name: 'f', arguments: argumentsOf(message.call) },
            { type: 'function_call_output', call_id: `c${at}`, output: message.result },
          ],
    ),
    ...(tools.length > 0 && {
      tools: tools.map((parameters) => ({ type: 'function', name: 'f', parameters, strict: false })),
    }),
  }),
};

/** Some arguments have two members with one name, which guards rewrite. */
const argumentsOf = (text: string): string => (text.length % 2 === 0 ? `{"a":"${text}"}` : `{"a":"x","a":"${text}"}`);

const word = fc.constantFrom('zz', 'k-1', 'k-2', 'rm', 'ls', 'hello', 'k-1 rm', 'zz k-2');
const message: fc.Arbitrary<Message> = fc.oneof(
  word.map((text) => ({ text })),
  fc.record({ call: word, result: word }),
);
const tool = word.map((description) => ({ type: 'object', description: description.padEnd(300, '.') }));
const body: fc.Arbitrary<Body> = fc.record({
  messages: fc.array(message, { minLength: 2, maxLength: 5 }),
  system: word.map((text) => text.padEnd(300 + text.length, '.')),
  tools: fc.array(tool, { maxLength: 1 }),
});

type Change = (body: Body) => Body;
const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.array(message, { maxLength: 2 }).map(
      (added): Change =>
        (one) => ({ ...one, messages: [...one.messages, ...added] }),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(fc.nat(9), message).map(
      ([at, other]): Change =>
        (one) => ({ ...one, messages: one.messages.with(at % one.messages.length, other) }),
    ),
  },
  // Only the call changes, and its result stays.
  {
    weight: 2,
    arbitrary: word.map(
      (call): Change =>
        (one) => ({ ...one, messages: one.messages.map((old) => ('call' in old ? { ...old, call } : old)) }),
    ),
  },
  fc.nat(3).map(
    (most): Change =>
      (one) => ({ ...one, messages: one.messages.slice(0, most + 2) }),
  ),
  word.map(
    (system): Change =>
      (one) => ({ ...one, system: system.padEnd(300, '.') }),
  ),
  fc.array(tool, { maxLength: 1 }).map(
    (tools): Change =>
      (one) => ({ ...one, tools }),
  ),
);

const setting: fc.Arbitrary<GuardSetting> = fc.record({
  plugin: fc.constantFrom('word', 'word', 'speaker', 'danger', 'moody'),
  word: fc.constantFrom('k-1', 'k-2', 'zz', 'user', 'assistant', 'rm', 'ls'),
  onMatch: fc.constantFrom('flag', 'flag', 'mask', 'mask', 'block'),
});
/** Two policies differ in the settings of a guard, not in its name. */
const policies = fc
  .array(fc.record({ setting, word: fc.constantFrom('k-1', 'k-2', 'zz', 'user', 'rm') }), {
    minLength: 1,
    maxLength: 3,
  })
  .map((guards): readonly Policy[] => [
    guards.map((one) => one.setting),
    guards.map((one) => ({ ...one.setting, word: one.word })),
  ]);

const session = fc
  .record({
    policies,
    dialect: fc.constantFrom(...Object.keys(DIALECTS)),
    first: body,
    turns: fc.array(
      fc.record({ change, keyId: fc.constantFrom('a', 'a', 'a', 'b'), policy: fc.constantFrom(0, 0, 0, 1) }),
      { minLength: 4, maxLength: 10 },
    ),
  })
  .map(({ policies: both, dialect, first, turns }) => {
    let now = first;
    const told = turns.map(({ change: next, keyId, policy }): Turn => {
      const text = JSON.stringify({ model: 'm', ...DIALECTS[dialect]!(now) });
      now = next(now);
      return { keyId, policy, dialect, text };
    });
    return { policies: both, turns: told };
  });

/** @returns how many windows the guards inspected when everything is inspected, and how many with kept verdicts */
function check(keeping: Keeping, endOnFailure = false): { whole: number; kept: number } {
  const count = { whole: 0, kept: 0 };
  fc.assert(
    fc.property(session, ({ policies: both, turns }) => {
      const whole = new World(both, null);
      const kept = new World(both, keeping);
      for (const turn of turns) expect(kept.turn(turn)).toEqual(whole.turn(turn));
      count.whole += whole.calls.length;
      count.kept += kept.calls.length;
      for (const keyId of ['a', 'b']) {
        const alone = new World(both, keeping);
        const among = new World(both, keeping);
        const calls: string[] = [];
        for (const turn of turns) {
          const before = among.calls.length;
          among.turn(turn);
          if (turn.keyId !== keyId) continue;
          alone.turn(turn);
          calls.push(...among.calls.slice(before));
        }
        expect(calls).toEqual(alone.calls);
      }
    }),
    { ...tries('kept-verdicts', 60, 5_000), endOnFailure },
  );
  return count;
}

// Wrong ways to keep verdicts.

const placeOf = (window: readonly RequestText[]): string =>
  JSON.stringify([window.at(-1)!.at.slice(0, 2), window.length]);
const textsOf = (window: readonly RequestText[]) =>
  JSON.stringify(window.map(({ text, role, kind }) => [text, role, kind]));

/** Keeps matches by a name that leaves something out. */
function keptBy(
  nameOf: (guard: RunningGuard, window: readonly RequestText[], keyId: string) => string | null,
): Keeping {
  return () => {
    const known = new Map<string, readonly GuardMatch[]>();
    return (_, guards, keyId) => ({
      find(guard, window) {
        const name = nameOf(guard, window, keyId);
        return name === null ? undefined : known.get(`${guards.indexOf(guard)} ${name}`);
      },
      keep(guard, window, matches) {
        const name = nameOf(guard, window, keyId);
        if (name !== null) known.set(`${guards.indexOf(guard)} ${name}`, matches);
      },
      knownEdits: (_request, edits) => edits,
    });
  };
}
const settingsOf = ({ rule }: RunningGuard): string => JSON.stringify(rule.settings);
const pure = (guard: RunningGuard, name: string): string | null => (guard.rule.isPure ? name : null);

const MUTANTS: Readonly<Record<string, Keeping>> = {
  'although the settings of the guard changed': keptBy((guard, window, keyId) => pure(guard, keyId + textsOf(window))),
  'across keys': keptBy((guard, window) => pure(guard, settingsOf(guard) + textsOf(window))),
  'of a guard that is not pure': keptBy((guard, window, keyId) => settingsOf(guard) + keyId + textsOf(window)),
  'of a message that was edited': keptBy((guard, window, keyId) =>
    pure(guard, settingsOf(guard) + keyId + placeOf(window)),
  ),
  'of a result whose call changed': keptBy((guard, window, keyId) =>
    pure(guard, settingsOf(guard) + keyId + textsOf(window.filter(({ kind }) => kind !== 'tool_arguments'))),
  ),
  'of a text whose role changed': keptBy((guard, window, keyId) =>
    pure(guard, settingsOf(guard) + keyId + JSON.stringify(window.map(({ text }) => text))),
  ),
  'with the masked message of an earlier turn, whatever its placeholders': () => {
    const messages = new Map<string, unknown>();
    return (request, guards, keyId) => {
      const kept = real(request, guards, keyId);
      return (
        kept && {
          find: (guard, window) => kept.find(guard, window),
          keep: (guard, window, matches) => kept.keep(guard, window, matches),
          knownEdits: (edited, edits) =>
            edits.map((edit) => {
              const before = JSON.stringify([edit.at, edited.originalAt(edit.at)]);
              return { at: edit.at, value: messages.getOrInsert(before, edit.value) };
            }),
        }
      );
    };
  },
};

describe('kept verdicts', () => {
  test('a turn gets what it would get if every text were inspected, and keys do not share what is kept', () => {
    const { whole, kept } = check(() => real);
    // Otherwise the law would say nothing.
    expect(kept).toBeLessThan(0.8 * whole);
  });

  test.each(Object.entries(MUTANTS))('the law rejects verdicts that are kept %s', (_, mutant) => {
    expect(() => check(mutant, true)).toThrow();
  });
});
