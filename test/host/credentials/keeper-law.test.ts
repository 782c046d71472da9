import { describe, expect, test } from 'bun:test';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import type { Timer, Timers } from '../../../src/core/time/timers.ts';
import { type KeeperOptions, TokenKeeper } from '../../../src/host/credentials/keeper.ts';
import type { Token } from '../../../src/host/credentials/source.ts';
import { tries } from '../../deep/effort.ts';

/** What a fetch returns after some time, ms: a token with a life, or a failure. The life counts from the answer. */
interface Outcome {
  readonly takesMs: number;
  /** ms; null for a token without a known end, undefined for a failure. */
  readonly lifeMs: number | null | undefined;
}

const MINUTE = 60_000;
/** A fetch without an answer takes at most as long as the calls of a source. */
const takes = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 500 }), fc.integer({ min: 1, max: 40_000 }));
const lives = fc.oneof(
  fc.integer({ min: -MINUTE, max: 20_000 }),
  fc.integer({ min: MINUTE, max: 60 * MINUTE }),
  fc.integer({ min: 60 * MINUTE, max: 12 * 60 * MINUTE }),
  fc.integer({ min: 1, max: 30 }).map((days) => days * 24 * 60 * MINUTE),
  fc.constant(null),
  fc.constant(undefined),
);
const outcomes = fc.array(fc.record({ takesMs: takes, lifeMs: lives }), { minLength: 1, maxLength: 40 });

type Make = (options: KeeperOptions) => Pick<TokenKeeper, 'current' | 'renew' | 'close'>;
const real: Make = (options) => new TokenKeeper(options);

/** Timers on a clock that stands still between events. */
class EventTimers implements Timers {
  now = 1_795_170_600_000;
  #events: { readonly at: number; readonly run: () => void }[] = [];

  after(ms: number, run: () => void): Timer {
    const event = { at: this.now + ms, run };
    this.#events.push(event);
    const timer: Timer = {
      unref: () => timer,
      close: () => {
        this.#events = this.#events.filter((one) => one !== event);
      },
    };
    return timer;
  }

  every(): Timer {
    throw new Error('a keeper plans one fetch at a time');
  }

  /** Runs the next event. */
  step(): void {
    const [next] = this.#events.sort((a, b) => a.at - b.at);
    if (!next) throw new Error('nothing is planned, so there will be no token again');
    this.#events.shift();
    this.now = next.at;
    next.run();
  }
}

interface ServedToken {
  readonly token: Token;
  readonly since: number;
}

/** Runs a keeper until its source has given all outcomes, and checks it at every event and at the end of every token. */
async function run(make: Make, given: readonly Outcome[], random: number): Promise<void> {
  const timers = new EventTimers();
  const starts: number[] = [];
  let running = 0;
  const fetchOne = async (): Promise<Token> => {
    const { takesMs, lifeMs } = given[starts.length] ?? { takesMs: 0, lifeMs: undefined };
    starts.push(timers.now);
    expect(++running).toBe(1);
    await new Promise<void>((resolve) => void timers.after(takesMs, resolve));
    running--;
    if (lifeMs === undefined) throw new Error('no token');
    const expiresAt = lifeMs === null ? null : timers.now + lifeMs;
    if (lifeMs !== null && lifeMs > 0) timers.after(lifeMs, () => {});
    return { value: `token-${starts.length}`, expiresAt };
  };
  const nothing = () => {};
  const keeper = make({
    ...{ now: () => timers.now, timers, random: () => random, first: null, fetch: fetchOne },
    ...{ onFailure: nothing, onSuccess: nothing },
  });
  void keeper.renew();
  /** Every change of the token that serves. */
  const served: (ServedToken | null)[] = [];
  while (starts.length <= given.length) {
    timers.step();
    // The keeper continues in later turns of the event loop.
    await setImmediate();
    const { current } = keeper;
    const hasEnded = ({ expiresAt }: Token) => expiresAt !== null && expiresAt <= timers.now;
    if (current) expect(hasEnded(current)).toBe(false);
    const before = served.at(-1) ?? null;
    if (current !== (before?.token ?? null)) {
      if (before) {
        const { token, since } = before;
        const end = token.expiresAt ?? Number.POSITIVE_INFINITY;
        expect(starts.some((at) => at >= since && at < end)).toBe(true);
        // A valid token is only replaced by another.
        if (current === null) expect(hasEnded(token)).toBe(true);
      }
      served.push(current && { token: current, since: timers.now });
    }
  }
  keeper.close();
  const pauses = starts.slice(1).map((at, index) => at - starts[index]! - given[index]!.takesMs);
  // No source is called in a hot loop, and none is forgotten.
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(500);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(24 * 60 * MINUTE);
}

const broken = async (make: Make): Promise<string | null> => {
  const property = fc.asyncProperty(outcomes, fc.double({ min: 0, max: 1, noNaN: true }), (given, random) =>
    run(make, given, random),
  );
  const details = await fc.check(property, { ...tries('tokens', 60, 2_000), endOnFailure: true });
  return details.failed ? (fc.defaultReportMessage(details) ?? '') : null;
};

test('one fetch runs at a time, no token serves after its end, and its successor is requested before, whatever a source returns', async () => {
  expect(await broken(real)).toBeNull();
});

const MUTANTS: Readonly<Record<string, Make>> = {
  'fetches twice at a time': (options) =>
    real({ ...options, fetch: async () => (await Promise.all([options.fetch(), options.fetch()]))[0] }),
  'has a slow clock, and so serves tokens after their end': (options) =>
    real({ ...options, now: () => options.now() - 5 * MINUTE }),
  'renews late': (options) => {
    const { timers } = options;
    const late: Timers = { after: (ms, begin) => timers.after(ms * 2.1, begin), every: timers.every };
    return real({ ...options, timers: late });
  },
  'forgets a token when its renewal fails': (options) => {
    let hasFailed = false;
    const keeper = real({
      ...options,
      onFailure: () => (hasFailed = true),
      onSuccess: () => (hasFailed = false),
    });
    return {
      renew: () => keeper.renew(),
      close: () => keeper.close(),
      get current() {
        return hasFailed ? null : keeper.current;
      },
    };
  },
};

describe('the law rejects a keeper that', () => {
  for (const [what, mutant] of Object.entries(MUTANTS)) {
    test(what, async () => {
      expect(await broken(mutant)).not.toBeNull();
    });
  }
});
