import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { personalData } from '../../plugins/guards/personal-data.ts';
import { secrets } from '../../plugins/guards/secrets.ts';
import { words } from '../../plugins/guards/words.ts';
import type { PreparedGuard } from '../../src/contract/guard.ts';
import { finished } from '../../src/contract/guard-steps.ts';
import type { StreamPart } from '../../src/contract/parts.ts';
import type { GuardAction, GuardRule } from '../../src/core/policy/guards.ts';
import { createCompletion } from '../../src/dialects/openai-chat/surface.ts';
import { GuardChain } from '../../src/gateway/guards/guard-chain.ts';
import { AnswerBlocked } from '../../src/gateway/guards/held-parts.ts';
import { Placeholders } from '../../src/gateway/guards/placeholders.ts';
import { Verdicts } from '../../src/gateway/guards/verdicts.ts';
import { processTimers } from '../../src/host/telemetry/process-timers.ts';
import { AT_ONCE } from '../../src/host/turns.ts';
import { tries } from '../deep/effort.ts';
import { atOnce } from '../support/at-once.ts';
import { madeSecrets } from '../support/made-secrets.ts';
import { readOn } from '../support/read-request.ts';

/**
 * The laws: however a provider cuts an answer into parts, a guard that masks shows the same text as for the whole answer, a guard that blocks
 * shows no character of the first match or after it, and a guard that flags shows each part at once.
 */

const GUARDS = {
  'personal-data': personalData.prepare({
    kinds: ['email', 'card', 'iban', 'phone', 'national'],
    countries: ['us', 'fr'],
  }),
  secrets: secrets.prepare({ entropy: false }),
  words: words.prepare({
    deny: ['falcon'],
    patterns: ['x-[0-9]{3}'],
    allow: ['falcon heavy'],
    case_sensitive: false,
    longest_match: 64,
  }),
} as const;

const { request: REQUEST } = readOn(createCompletion, { model: 'm', messages: [{ role: 'user', content: 'Hi.' }] });

const RULE: Omit<GuardRule, 'onMatch' | 'buffersWhole'> = {
  name: 'guard',
  place: { file: 'p.yaml', line: 1, column: 1 },
  plugin: 'guard',
  settings: {},
  isPure: true,
  window: 'message',
  when: null,
  on: ['output'],
  onFailure: 'block',
  deadlineMs: 60_000,
  unmask: [],
  refuse: [],
};

/** Pieces of answers. Each kind of match occurs, next to texts that nearly match. */
const PIECES = [
  ...[
    'ada@example.com',
    'ada@',
    '@example',
    'bob.smith@mail.example.org',
    'ada@example.com1',
    '4111 1111 1111 1111',
    '4111 1111 1111 1112',
  ],
  ...['DE89 3704 0044 0532 0130 00', '+49 30 901820', '030 1234567', '123-45-6789', '2026-10-07', '3.14159265'],
  ...[
    'sk-live-1234567890abcdef',
    'AKIAIOSFODNN7EXAMPLE',
    'ghp_0123456789abcdefABCD',
    'password: Tr0ub4dor&3',
    'postgres://me:hunter22@db',
  ],
  ...[
    'const apiKey = process.env.API_KEY;',
    'password = config.get("password")',
    'password: Optional[str] = None',
    'access_token: str = "Tr0ub4dor&3"',
    '{\\"password\\": \\"Tr0ub4dor\\"}',
    'token=',
    'hunter22\n',
    `"${'aB3dE5gH'.repeat(30)}"`,
    'word_'.repeat(40),
    'Bearer ',
    'sk_stack_of_names_',
    `https://me:${'p4'.repeat(100)}`,
    `https://${'user'.repeat(40)}:pa`,
    '@',
    '(',
    '-----BEGIN PRIVATE KEY-----',
    '\\nMIIEow',
  ],
  ...madeSecrets(7, 1).map(({ text }) => text),
  ...['falcon', 'falcon heavy', 'Falcons', 'x-123', 'x-12'],
  ...[
    ' ',
    ' ',
    ' ',
    '. ',
    ', ',
    '\n',
    'and then ',
    'The answer is a long text without anything in it. '.repeat(6),
    '👍',
    'ä',
  ],
];
const answers = fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 14 }).map((pieces) => pieces.join(''));
/** Where the answer is cut, as shares of its length. */
const cuts = fc.oneof(
  fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 60 }),
  fc.integer({ min: 20, max: 400 }).map((count) => Array.from({ length: count }, (_, at) => at / count)),
);
const guards = fc.constantFrom(...Object.values(GUARDS));

const partOf = (text: string): StreamPart => ({ type: 'text', choice: 0, text });
const FINISH: StreamPart = { type: 'finish', choice: 0, reason: 'stop', raw: 'stop' };

function cutAt(text: string, shares: readonly number[]): string[] {
  const ends = [...new Set(shares.map((share) => Math.floor(share * text.length)))].sort((a, b) => a - b);
  return [...ends, text.length].map((end, at, all) => text.slice(all[at - 1] ?? 0, end));
}

interface Shown {
  readonly text: string;
  /** The shown characters after each part. */
  readonly steps: readonly number[];
  readonly isBlocked: boolean;
}

type Holder = new (...of: ConstructorParameters<typeof GuardChain>) => Pick<GuardChain, 'add' | 'end'>;

/** Sends pieces of an answer through a guard. */
function show(
  prepared: PreparedGuard,
  onMatch: GuardAction,
  pieces: readonly string[],
  isStream: boolean,
  Held: Holder,
): Shown {
  const rule: GuardRule = { ...RULE, onMatch, buffersWhole: false };
  const parts = new Held([{ rule, prepared }], isStream, {
    request: REQUEST,
    verdicts: new Verdicts(),
    placeholders: new Placeholders(() => new Uint8Array(32)),
    clock: () => 0,
    timers: processTimers,
    turns: AT_ONCE,
    onFailure: () => {},
  });
  let text = '';
  const steps: number[] = [];
  const add = (shown: readonly StreamPart[]) => {
    for (const part of shown) if (part.type === 'text') text += part.text;
    steps.push(text.length);
  };
  try {
    for (const piece of pieces) add(atOnce(parts.add([partOf(piece)])));
    add(atOnce(parts.add([FINISH])));
    add(atOnce(parts.end()));
    return { text, steps, isBlocked: false };
  } catch (cause) {
    if (!(cause instanceof AnswerBlocked)) throw cause;
    return { text, steps, isBlocked: true };
  }
}

const masksAlike = (Held: Holder) =>
  fc.property(guards, answers, cuts, (guard, answer, shares) => {
    const whole = show(guard, 'mask', [answer], false, Held);
    const cut = show(guard, 'mask', cutAt(answer, shares), true, Held);
    expect(cut).toMatchObject({ text: whole.text, isBlocked: whole.isBlocked });
  });

const firstMatch = (guard: PreparedGuard, answer: string): number => {
  const found = guard.check({ side: 'output', texts: [{ text: answer, role: 'assistant', kind: 'text' }] });
  if (found instanceof Promise) throw new Error('a shipped guard returned a promise');
  return Math.min(answer.length, ...finished(found).flatMap(({ at }) => at?.from ?? []));
};

const blocksBefore = (Held: Holder) =>
  fc.property(guards, answers, cuts, (guard, answer, shares) => {
    const { text, isBlocked } = show(guard, 'block', cutAt(answer, shares), true, Held);
    const from = firstMatch(guard, answer);
    expect(isBlocked).toBe(from < answer.length);
    expect(answer.slice(0, from).startsWith(text)).toBeTrue();
  });

/** Inspects each part alone. */
class PartByPart extends GuardChain {
  override add(parts: readonly StreamPart[]): readonly StreamPart[] {
    return [...atOnce(super.add(parts)), ...atOnce(this.end())];
  }
}

/** Shows a text as soon as no match is in it. */
class WithoutWindow extends GuardChain {
  constructor(...[guards, isStream, context]: ConstructorParameters<typeof GuardChain>) {
    super(
      guards.map((one) => ({ ...one, prepared: { ...one.prepared, reach: 1 } })),
      isStream,
      context,
    );
  }
}

const fails = (property: fc.IProperty<unknown>, name: string): boolean =>
  fc.check(property, { ...tries(name, 400, 2_000), numRuns: 4_000, endOnFailure: true }).failed;

describe('a guard on a stream', () => {
  test('that masks shows the same text however the answer is cut', () => {
    fc.assert(masksAlike(GuardChain), tries('guard-masks', 100, 20_000));
  });

  test('that masks also masks a secret whose name ends another secret, which is masked first', () => {
    const answer = `Your key: sk-live-1234567890abcdefpassword: Tr0ub4dor&3 ${'and then '.repeat(60)}`;
    expect(show(GUARDS.secrets, 'mask', [...answer], true, GuardChain).text).not.toContain('Tr0ub4dor');
  });

  test('that masks inspects the same text again if the first sign of it is the last of an earlier match', () => {
    const address = `https://me:${'p4'.repeat(100)}`;
    const key = `pypi-AgE${'a1B2'.repeat(40)}`;
    const answer = `The key is (${key})${address}${address}${' and then'.repeat(10)} ${address}@db`;
    const whole = show(GUARDS.secrets, 'mask', [answer], false, GuardChain).text;
    for (let at = answer.length - 64; at < answer.length; at++)
      expect(show(GUARDS.secrets, 'mask', cutAt(answer, [at / answer.length]), true, GuardChain).text).toBe(whole);
  });

  test('that blocks shows no character of the first match or after it', () => {
    fc.assert(blocksBefore(GuardChain), tries('guard-blocks', 100, 20_000));
  });

  test('that blocks or masks delays the text by at most its reach and 48 characters, unless a match is still growing', () => {
    fc.assert(
      fc.property(guards, cuts, (guard, shares) => {
        const answer = 'A plain sentence with nothing in it. '.repeat(40);
        const pieces = cutAt(answer, shares);
        const { steps } = show(guard, 'mask', pieces, true, GuardChain);
        let arrived = 0;
        for (const [at, piece] of pieces.entries()) {
          arrived += piece.length;
          const complete = pieces.slice(0, at + 1).findLast((one) => one.length > 0)?.length ?? 0;
          expect(arrived - steps[at]!).toBeLessThanOrEqual((guard.reach ?? 0) + 48 + complete + longest(pieces));
        }
      }),
      tries('guard-latency', 100, 2_000),
    );
  });

  test('that flags shows each part at once', () => {
    fc.assert(
      fc.property(guards, answers, cuts, (guard, answer, shares) => {
        const pieces = cutAt(answer, shares);
        const { text, steps } = show(guard, 'flag', pieces, true, GuardChain);
        expect(text).toBe(answer);
        let arrived = 0;
        for (const [at, piece] of pieces.entries()) {
          arrived += piece.length;
          expect(steps[at]).toBe(arrived);
        }
      }),
      tries('guard-flags', 100, 2_000),
    );
  });

  test.each([
    ['inspects each part alone', PartByPart],
    ['shows a text as soon as no match is in it', WithoutWindow],
  ])('the laws find a guard that %s', (_, Mutant) => {
    expect(fails(masksAlike(Mutant), 'guard-masks')).toBeTrue();
    expect(fails(blocksBefore(Mutant), 'guard-blocks')).toBeTrue();
  });
});

const longest = (pieces: readonly string[]): number => Math.max(...pieces.map(({ length }) => length));
