import { expect, test } from 'bun:test';
import { jsonSchema } from '../../plugins/guards/json-schema.ts';
import { language } from '../../plugins/guards/language.ts';
import { personalData } from '../../plugins/guards/personal-data.ts';
import { secrets } from '../../plugins/guards/secrets.ts';
import { size } from '../../plugins/guards/size.ts';
import { words } from '../../plugins/guards/words.ts';
import type { GuardWindow, PreparedGuard } from '../../src/contract/guard.ts';
import { checkPure, isSteps, TooLongForGuard } from '../../src/contract/guard-steps.ts';
import { isDeep } from '../deep/effort.ts';
import { threadMs } from '../support/thread-time.ts';

/** The law: a shipped guard holds the event loop for at most 50 ms of CPU, whatever a text of 10 MB is. `npm test` tries shorter texts. */
const PAUSE_MS = 50;
const LENGTH = isDeep ? 9_900_000 : 1_000_000;
const TRIES = 5;

const GUARDS: Readonly<Record<string, PreparedGuard>> = {
  'personal-data': personalData.prepare({
    kinds: ['email', 'phone', 'card', 'iban', 'national', 'ip'],
    countries: ['be', 'br', 'de', 'es', 'fr', 'gb', 'it', 'nl', 'pl', 'se', 'us'],
  }),
  secrets: secrets.prepare({ entropy: true }),
  words: words.prepare({
    deny: ['falcon', 'fa*', '(a'],
    patterns: ['(a*)*bc', '(?:falco)+n{2,9}', '\\w+@\\w+', '(?i)x-[0-9]+'],
    allow: ['falcon heavy'],
    case_sensitive: false,
    longest_match: 256,
  }),
  language: language.prepare({ scripts: ['latin'], share: 0.3, letters: 20 }),
  size: size.prepare({ characters: 1_000 }),
  'json-schema': jsonSchema.prepare({
    schema: { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'number' }] } },
    tools: true,
    repair: true,
    repairs: 0,
  }),
};

/** Beginnings of texts, and pieces that are repeated. */
const SHAPES: readonly (readonly [string, string])[] = [
  ['', '4111 1111 1111 1112 '],
  ['', 'ada@example.com '],
  ...((isDeep
    ? [
        ['', '4111 1111 1111 1111 '],
        ['0', '111 1111 1111 1112 '],
        ['', '1.1.'],
        ['sk-', 'a'],
        ['a@', 'b.'],
        ['-----BEGIN PRIVATE KEY-----', '\nAAAA'],
        ['', 'password='],
        ['', 'aB3dE5gH7jK9mN1pQ3rS5tU7 '],
        ['', 'falcon heavy '],
        ['', 'bsn 111222333 '],
        ['', 'Привет мир 👍'],
        ['[', '1,'],
        ['{"a": "', 'x"y'],
        ['', '['],
      ]
    : [['0', '111 1111 1111 1112 ']]) as readonly (readonly [string, string])[]),
];

/** Returns the longest step of a guard in ms of the thread; of each step the shortest of several runs. */
function longestStep(guard: PreparedGuard, window: GuardWindow, runs = TRIES): number {
  const least: number[] = [];
  for (let run = 0; run < runs; run++) {
    let steps: ReturnType<PreparedGuard['check']> | null = null;
    for (let at = 0, isDone = false; !isDone; at++) {
      const begun = threadMs();
      try {
        if (steps === null) steps = checkPure(guard, window);
        else if (isSteps(steps)) isDone = steps.next().done === true;
      } catch (cause) {
        // The server refuses such a text.
        if (!(cause instanceof TooLongForGuard)) throw cause;
        isDone = true;
      }
      isDone ||= steps !== null && !isSteps(steps);
      least[at] = Math.min(least[at] ?? Number.POSITIVE_INFINITY, threadMs() - begun);
    }
    if (least.every((ms) => ms < PAUSE_MS)) break;
  }
  return least.reduce((most, ms) => Math.max(most, ms), 0);
}

const windowOf = (text: string): GuardWindow => ({
  side: 'output',
  texts: [{ text, role: 'assistant', kind: 'text', form: { schema: null } }],
});

for (const [name, guard] of Object.entries(GUARDS)) {
  test(`${name} holds the event loop for at most ${PAUSE_MS} ms, however long a text is`, () => {
    const longest: Record<string, number> = {};
    for (const [beginning, piece] of SHAPES)
      for (const length of [LENGTH, 524_000, 262_000, 16_000]) {
        if (length < LENGTH && name !== 'json-schema') continue;
        const ms = longestStep(guard, windowOf(beginning + piece.repeat(length / piece.length)));
        if (ms >= PAUSE_MS) longest[beginning + piece] = ms;
      }
    expect(longest).toEqual({});
  }, 600_000);
}

test('the law finds a guard that inspects a text as a whole', () => {
  const whole: PreparedGuard = {
    kinds: ['found'],
    longest: 20_000_000,
    check: ({ texts }) => ([...texts[0]!.text.matchAll(/\w+@\w+/g)].length > 0 ? [{ kind: 'found' }] : []),
  };
  expect(longestStep(whole, windowOf('a@b.cc '.repeat(1_400_000)), 2)).toBeGreaterThan(PAUSE_MS);
});
