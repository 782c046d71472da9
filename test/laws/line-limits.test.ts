import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { Limiter } from '../../src/access/limits/limiter.ts';
import { callerBelow } from '../../src/access/line.ts';
import { SignalboxError } from '../../src/core/errors.ts';
import type { Caller, KeyLimits } from '../../src/core/people/caller.ts';
import type { RateLimit } from '../../src/core/policy/rate-limit.ts';
import { NO_CALLER, readKey } from '../../src/core/tables/facts/caller.ts';
import { atOnce } from '../access/limits/support.ts';
import { tries } from '../deep/effort.ts';

/** Keys with parents: each key except the first of a line names its parent by index. */
interface KeyDraw {
  readonly above: number;
  readonly requests: number | null;
  readonly streams: number | null;
  readonly isMarked: boolean;
}

const few = fc.option(fc.integer({ min: 1, max: 4 }), { nil: null });
const keys = fc.array(
  fc.record({ above: fc.integer({ min: -1, max: 7 }), requests: few, streams: few, isMarked: fc.boolean() }),
  {
    minLength: 2,
    maxLength: 8,
  },
);
const policy = fc.record({ eachKey: few, unmarked: few, all: few });
const requests = fc.array(fc.record({ by: fc.nat(7), streams: fc.boolean() }), { minLength: 10, maxLength: 40 });

const figuresOf = (requestsPerMinute: number | null, concurrentStreams: number | null): KeyLimits => ({
  ...{ requestsPerMinute, concurrentStreams, tokensPerMinute: null },
});

function callersOf(draws: readonly KeyDraw[]): Caller[] {
  const made: Caller[] = [];
  for (const [at, { above, requests: perMinute, streams, isMarked }] of draws.entries()) {
    const upper = made[above];
    const labels = { ...upper?.labels, ...(isMarked && { 'child.mark': 'yes' }) };
    const caller: Caller = {
      ...{ keyId: `k${at}`, scopes: new Set(['chat']), labels, models: null, budgets: [] },
      limits: figuresOf(perMinute, streams),
    };
    made.push(upper ? callerBelow(caller, upper) : caller);
  }
  return made;
}

const place = { file: 'p.yaml', line: 1, column: 1 };

/** Makes a limit for each key, a limit that a label of a child key might seem to evade, and a limit for all keys. */
function limitsOf({ eachKey, unmarked, all }: { readonly [name in 'eachKey' | 'unmarked' | 'all']: number | null }) {
  const limits: RateLimit[] = [];
  const add = (name: string, perMinute: number | null, more: Pick<RateLimit, 'match' | 'each'>) => {
    if (perMinute !== null) limits.push({ name, place, figures: figuresOf(perMinute, null), ...more });
  };
  add('each', eachKey, { match: null, each: ({ key }) => key.id });
  add('unmarked', unmarked, { match: ({ key }) => !key.labels.has('child.mark'), each: null });
  add('all', all, { match: null, each: null });
  return limits;
}

const lineOf = ({ keyId, line = [] }: Caller): readonly string[] => [keyId, ...line];

/**
 * Sends requests of several keys at the same moment. Returns the indexes of the admitted requests, and what exceeds the limit of any key.
 */
function excessOf(
  callers: readonly Caller[],
  limits: readonly RateLimit[],
  asked: readonly { readonly by: number; readonly streams: boolean }[],
  seenAs: (caller: Caller) => Caller,
): string[] {
  const limiter = new Limiter(() => 1_000_000);
  const admitted: { readonly caller: Caller; readonly streams: boolean }[] = [];
  for (const { by, streams } of asked) {
    const caller = callers[by % callers.length]!;
    try {
      atOnce(limiter.admit(limits, seenAs(caller), ''))?.begin(streams, 0);
      admitted.push({ caller, streams });
    } catch (error) {
      if (!(error instanceof SignalboxError)) throw error;
    }
  }
  return callers.flatMap((key) => {
    const own = admitted.filter(({ caller }) => lineOf(caller).includes(key.keyId));
    const scope = { ...NO_CALLER, key: readKey(key) };
    const most = Math.min(
      ...limits.filter(({ match }) => match?.(scope) ?? true).map(({ figures }) => figures.requestsPerMinute!),
      key.limits?.requestsPerMinute ?? Number.POSITIVE_INFINITY,
    );
    const open = own.filter(({ streams }) => streams).length;
    const isBeyond = own.length > most || open > (key.limits?.concurrentStreams ?? Number.POSITIVE_INFINITY);
    return isBeyond ? [key.keyId] : [];
  });
}

const NAME = 'rate limits and stream limits: a key and all its child keys together never exceed the limit of that key';

test('a key and all its child keys together never exceed the limit of that key', () => {
  const law = fc.property(keys, policy, requests, (draws, figures, asked) => {
    expect(excessOf(callersOf(draws), limitsOf(figures), asked, (caller) => caller)).toEqual([]);
  });
  fc.assert(law, tries(NAME, 300, 20_000));
});

test('the law detects a limiter that counts each key alone', () => {
  const law = fc.property(keys, policy, requests, (draws, figures, asked) => {
    const alone = new Map<Caller, Caller>();
    const seenAs = (caller: Caller) => alone.getOrInsertComputed(caller, ({ parent: _, ...rest }) => rest);
    expect(excessOf(callersOf(draws), limitsOf(figures), asked, seenAs)).toEqual([]);
  });
  expect(fc.check(law, { numRuns: 300, seed: 1, endOnFailure: true }).failed).toBe(true);
});
