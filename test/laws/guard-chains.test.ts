import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { personalData } from '../../plugins/guards/personal-data.ts';
import { secrets } from '../../plugins/guards/secrets.ts';
import { size } from '../../plugins/guards/size.ts';
import { words } from '../../plugins/guards/words.ts';
import type { PreparedGuard } from '../../src/contract/guard.ts';
import type { StreamPart } from '../../src/contract/parts.ts';
import type { GuardVerdict } from '../../src/core/decision/verdict.ts';
import { SignalboxError } from '../../src/core/errors.ts';
import type { GuardRule } from '../../src/core/policy/guards.ts';
import { createCompletion } from '../../src/dialects/openai-chat/surface.ts';
import { GuardChain } from '../../src/gateway/guards/guard-chain.ts';
import type { RunningGuard } from '../../src/gateway/guards/guard-runtime.ts';
import { GuardedParts } from '../../src/gateway/guards/guarded-parts.ts';
import { AnswerBlocked, type HeldRoom } from '../../src/gateway/guards/held-parts.ts';
import { Placeholders } from '../../src/gateway/guards/placeholders.ts';
import { Verdicts } from '../../src/gateway/guards/verdicts.ts';
import { processTimers } from '../../src/host/telemetry/process-timers.ts';
import { AT_ONCE } from '../../src/host/turns.ts';
import { tries } from '../deep/effort.ts';
import { atOnce } from '../support/at-once.ts';
import { readOn } from '../support/read-request.ts';

/**
 * The laws of lists of guards on answers: a stream, however it is cut, has the verdict and the text of the whole answer; a guard that flags
 * leaves all parts as they are; and a masked answer in JSON is the same JSON with other values.
 */

const GUARDS: Readonly<Record<string, PreparedGuard>> = {
  personal: personalData.prepare({ kinds: ['email', 'card'], countries: ['us'] }),
  secrets: secrets.prepare({ entropy: false }),
  falcon: words.prepare({
    ...{ deny: ['falcon', 'example', 'email', 'token'], patterns: ['b[a-z]+@', 'com[.,]'], allow: ['falcon heavy'] },
    ...{ case_sensitive: false, longest_match: 64 },
  }),
  size: size.prepare({ characters: 300 }),
};

const ACTIONS = ['block', 'mask', 'mask', 'flag'] as const;
const guardLists = fc
  .array(
    fc.record({
      plugin: fc.constantFrom(...Object.keys(GUARDS)),
      onMatch: fc.constantFrom(...ACTIONS),
      buffersWhole: fc.constantFrom(false, false, false, true),
    }),
    { minLength: 1, maxLength: 4 },
  )
  .map((list) => list.map((one, at) => guardOf(one.plugin, one.onMatch, one.buffersWhole, `guard-${at}`)));

const guardOf = (plugin: string, onMatch: GuardRule['onMatch'], buffersWhole = false, name = plugin): RunningGuard => ({
  rule: {
    ...{ name, place: { file: 'p.yaml', line: 1, column: 1 }, plugin, settings: {}, isPure: true, window: 'message' },
    ...{ when: null, on: ['output'], onMatch, onFailure: 'block', deadlineMs: 60_000, buffersWhole },
    ...{ unmask: [], refuse: [] },
  },
  prepared: GUARDS[plugin]!,
});

/** Pieces of answers, in which matches of several guards overlap. */
const PIECES = [
  ...['ada@example.com', 'falcon@example.com', 'bob.falcon@mail.example.org', 'ada@example.com, ', 'falcon', 'falcon '],
  ...[
    'falcon heavy',
    'heavy@example.com',
    '4111 1111 1111 1111',
    'password: falcon@example.com1',
    'token = Tr0ub4dor&3',
  ],
  ...['sk-live-1234567890abcdef', 'AKIAIOSFODNN7EXAMPLE', '[email:aaaaaaaaaaaa]', 'email', ' ', ' ', '. ', '\n', 'ä'],
  'The answer is a long text without anything in it. '.repeat(6),
];
const answers = fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 14 }).map((pieces) => pieces.join(''));
const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 60 });

function cutAt(text: string, shares: readonly number[]): string[] {
  const ends = [...new Set(shares.map((share) => Math.floor(share * text.length)))].sort((a, b) => a - b);
  return [...ends, text.length].map((end, at, all) => text.slice(all[at - 1] ?? 0, end));
}

interface Shown {
  readonly text: string;
  readonly isBlocked: boolean;
  /** The matches of guards that flag, by guard. */
  readonly flagged: Readonly<Record<string, GuardVerdict['matches']>>;
}

type Chain = Pick<GuardChain, 'add' | 'end'>;
type Chained = new (...of: ConstructorParameters<typeof GuardChain>) => Chain;

const partOf = (text: string): StreamPart => ({ type: 'text', choice: 0, text });
const FINISH: StreamPart = { type: 'finish', choice: 0, reason: 'stop', raw: 'stop' };

const requestWith = (more: object) =>
  readOn(createCompletion, { model: 'm', messages: [{ role: 'user', content: 'Hi.' }], ...more }).request;
const [TEXT, JSON_WANTED] = [requestWith({}), requestWith({ response_format: { type: 'json_object' } })];

const contextOf = (verdicts: Verdicts, request = TEXT, room: HeldRoom = ampleRoom()) => ({
  ...{ request, verdicts, placeholders: new Placeholders(() => new Uint8Array(32)) },
  ...{ clock: () => 0, turns: AT_ONCE, timers: processTimers, onFailure: () => {}, room },
});

/** Returns a room with any memory, in which more was never released than reserved. */
function ampleRoom(): HeldRoom {
  let held = 0;
  return {
    take(bytes) {
      held += bytes;
      expect(held).toBeGreaterThanOrEqual(0);
      return true;
    },
    error: crowdedAnswer,
  };
}
const crowdedAnswer = () => new SignalboxError('overloaded', 'No memory is left.');

/** Sends pieces of an answer through a list of guards. */
function show(
  guards: readonly RunningGuard[],
  pieces: readonly string[],
  isStream: boolean,
  Held: Chained,
  request = TEXT,
) {
  const verdicts = new Verdicts();
  const parts = new Held(guards, isStream, contextOf(verdicts, request));
  let text = '';
  let isBlocked = false;
  const add = (shown: readonly StreamPart[]) => {
    for (const part of shown) if (part.type === 'text') text += part.text;
  };
  try {
    for (const piece of pieces) add(atOnce(parts.add([partOf(piece)])));
    add(atOnce(parts.add([FINISH])));
    add(atOnce(parts.end()));
  } catch (cause) {
    if (!(cause instanceof AnswerBlocked)) throw cause;
    isBlocked = true;
  }
  const flags = verdicts.all.filter(({ action }) => action === 'flag');
  const shown: Shown = { text, isBlocked, flagged: Object.fromEntries(flags.map((one) => [one.guard, one.matches])) };
  return shown;
}

const agree = (Held: Chained) =>
  fc.property(guardLists, answers, cuts, (guards, answer, shares) => {
    const whole = show(guards, [answer], false, GuardChain);
    const cut = show(guards, cutAt(answer, shares), true, Held);
    expect(cut.isBlocked).toBe(whole.isBlocked);
    // A whole answer that is blocked shows nothing, and a guard that flags may not have seen the rest of a stream that is blocked.
    if (!whole.isBlocked) expect(cut).toEqual(whole);
  });

/** Runs all guards on the same window of the text. */
class Together extends GuardedParts {}
/** Runs the guards in the order of their names, backwards. */
class Backwards extends GuardChain {
  constructor(...[guards, isStream, context]: ConstructorParameters<typeof GuardChain>) {
    super([...guards].reverse(), isStream, context);
  }
}

const fails = (property: fc.IProperty<unknown>, name: string): boolean =>
  fc.check(property, { ...tries(name, 400, 2_000), numRuns: 4_000, endOnFailure: true }).failed;

describe('a list of guards', () => {
  test('has the same verdict and the same text for a stream, however it is cut, and for a whole answer', () => {
    fc.assert(agree(GuardChain), tries('guard-chains', 100, 20_000));
  });

  test('masks before a later guard blocks, in a stream too', () => {
    const guards = [guardOf('personal', 'mask'), guardOf('falcon', 'block')];
    const answer = `Write to falcon@mail.org. ${'and then '.repeat(100)}`;
    for (const pieces of [[answer], [...answer]])
      expect(show(guards, pieces, true, GuardChain)).toMatchObject({ isBlocked: false });
    expect(show(guards.toReversed(), [...answer], true, GuardChain)).toMatchObject({ isBlocked: true });
  });

  test.each([
    ['inspects the same window with all guards', Together],
    ['changes the order of guards', Backwards],
  ])('the law finds a list that %s', (_, Mutant) => {
    expect(fails(agree(Mutant), 'guard-chains')).toBeTrue();
  });
});

test('guards that flag leave all parts as they are, at once', () => {
  fc.assert(
    fc.property(guardLists, answers, cuts, fc.boolean(), (guards, answer, shares, isStream) => {
      const flagging = guards.map(({ rule, prepared }) => ({ rule: { ...rule, onMatch: 'flag' as const }, prepared }));
      const parts = new GuardChain(flagging, isStream, contextOf(new Verdicts()));
      const call = (args: string): StreamPart => ({ type: 'tool-call', choice: 0, index: 0, arguments: args });
      const probabilities: StreamPart = { type: 'logprobs', choice: 0, content: [{ token: 'a' }], refusal: [] };
      for (const piece of cutAt(answer, shares)) {
        const batch = [partOf(piece), probabilities, call('{"a":1, "a" : 2}')];
        expect(atOnce(parts.add(batch))).toBe(batch);
      }
      const last = [FINISH];
      expect(atOnce(parts.add(last))).toBe(last);
    }),
    tries('guard-flags-alike', 100, 2_000),
  );
});

describe('without memory for what a guard keeps of a stream', () => {
  const room: HeldRoom = { take: (bytes) => bytes <= 0, error: crowdedAnswer };
  const piece = 'The answer goes on. '.repeat(100);

  /** Sends 1 MB through a guard. @returns the shown characters, and the code of the error that ended the answer */
  const sendLong = (guard: RunningGuard, verdicts = new Verdicts()) => {
    const parts = new GuardChain([guard], true, contextOf(verdicts, TEXT, room));
    let chars = 0;
    try {
      for (let at = 0; at < 500; at++)
        for (const part of atOnce(parts.add([partOf(piece)]))) if (part.type === 'text') chars += part.text.length;
      return { chars, error: null, failed: verdicts.all.map(({ failed }) => failed) };
    } catch (cause) {
      if (!(cause instanceof AnswerBlocked)) throw cause;
      return { chars, error: cause.error.code, failed: verdicts.all.map(({ failed }) => failed) };
    }
  };

  test('a guard with a window needs none', () => {
    for (const action of ['block', 'mask', 'flag'] as const) {
      const { chars, error } = sendLong(guardOf('secrets', action));
      expect(error).toBeNull();
      expect(chars).toBeGreaterThan(500 * piece.length - 1_000 - piece.length);
    }
  });

  test('a guard that reads the whole answer ends it, and a guard that flags only fails', () => {
    expect(sendLong(guardOf('secrets', 'mask', true))).toMatchObject({ chars: 0, error: 'overloaded' });
    const { rule, prepared } = guardOf('size', 'flag');
    const counted = sendLong({ rule: { ...rule, onFailure: 'flag' }, prepared });
    expect(counted).toEqual({ chars: 500 * piece.length, error: null, failed: [true] });
    expect(sendLong({ rule, prepared })).toMatchObject({ error: 'guard_failed' });
  });
});

const LEAVES = fc.oneof(
  fc.constantFrom(
    ...PIECES.slice(0, 8),
    'a\nbob@mail.org',
    '"bob@mail.org\\',
    4111111111111111,
    12345678901234567890n,
    0.5,
    true,
  ),
  fc.string({ maxLength: 5 }),
);
type Json = string | number | bigint | boolean | readonly Json[] | { readonly [name: string]: Json };
const { json: values } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3 },
    LEAVES,
    fc.array(tie('json'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'ada@example.com', 'k"'), tie('json'), { maxKeys: 3 }),
  ),
}));

/** Writes JSON with spaces, and whole numbers with all their digits. */
function written(value: Json): string {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[ ${value.map(written).join(', ')}]`;
  return `{${Object.entries(value)
    .map(([name, one]) => `${JSON.stringify(name)} : ${written(one)}`)
    .join(',\n')}}`;
}

/** Returns a value with a sign for each masked text and each number that is left. */
const shapeOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).map(([name, one]) => [shapeOf(name), shapeOf(one)]);
  return typeof value === 'string' ? value.replace(/\[[a-z-]+:[a-p]{12}\]/g, '*') : value;
};
const expectedShape = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(expectedShape);
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).map(([name, one]) => [expectedShape(name), expectedShape(one)]);
  if (value === 4111111111111111) return '*';
  return typeof value === 'string'
    ? show([guardOf('personal', 'mask')], [value], false, GuardChain).text.replace(/\[[a-z-]+:[a-p]{12}\]/g, '*')
    : value;
};

const staysJson = (request: typeof TEXT) =>
  fc.property(values, cuts, fc.boolean(), (value, shares, isStream) => {
    const answer = written(value);
    const { text, isBlocked } = show(
      [guardOf('personal', 'mask')],
      cutAt(answer, shares),
      isStream,
      GuardChain,
      request,
    );
    expect(isBlocked).toBeFalse();
    expect(shapeOf(JSON.parse(text))).toEqual(expectedShape(JSON.parse(answer)));
    if (answer.includes('12345678901234567890')) expect(text).toContain('12345678901234567890');
  });

describe('a guard that masks an answer in JSON', () => {
  test('keeps its form, and masks names, strings and numbers', () => {
    fc.assert(staysJson(JSON_WANTED), tries('guard-masks-json', 100, 10_000));
  });

  test('the law finds a mask of the text as it is written', () => {
    expect(fails(staysJson(TEXT), 'guard-masks-json')).toBeTrue();
  });
});
