import { describe, expect, test } from 'bun:test';
import { LimitAccounts } from '../../../src/access/limits/accounts.ts';
import { Limiter } from '../../../src/access/limits/limiter.ts';
import type { Quota } from '../../../src/access/limits/quota.ts';
import { durationText } from '../../../src/access/limits/refusal.ts';
import { SignalboxError } from '../../../src/core/errors.ts';
import { type Caller, type KeyLimits, SCOPES } from '../../../src/core/people/caller.ts';
import type { RateLimit } from '../../../src/core/policy/rate-limit.ts';
import { atOnce } from './support.ts';

const NO_FIGURES: KeyLimits = { requestsPerMinute: null, tokensPerMinute: null, concurrentStreams: null };
const place = { file: 'p.yaml', line: 1, column: 1, length: 1 };

const limit = (name: string, figures: Partial<KeyLimits>, more: Partial<RateLimit> = {}): RateLimit => ({
  name,
  place,
  match: null,
  each: null,
  figures: { ...NO_FIGURES, ...figures },
  ...more,
});

const caller = (keyId: string, labels: Caller['labels'] = {}, limits: KeyLimits | null = null): Caller => ({
  keyId,
  scopes: new Set(SCOPES),
  labels,
  models: null,
  limits,
  budgets: [],
});

const EACH_KEY = { each: ({ key }: { key: { id: string } }) => key.id };
const nowhere = '';

/** A limiter whose clock only the test moves. */
function setUp(accounts?: LimitAccounts) {
  const clock = { now: 1_000_000 };
  return { clock, limiter: new Limiter(() => clock.now, accounts) };
}

function refusal(act: () => unknown): { limit: unknown; kind: unknown; waitMs: number | undefined } | null {
  try {
    act();
    return null;
  } catch (error) {
    if (!(error instanceof SignalboxError) || error.code !== 'rate_limit_exceeded') throw error;
    const { details, retryAfterMs: waitMs } = error.info;
    return { limit: details?.limit, kind: details?.kind, waitMs };
  }
}

const admitted = (found: Quota | Promise<Quota> | null): Quota => {
  const quota = atOnce(found);
  if (!quota) throw new Error('no limit applies');
  return quota;
};

describe('requests', () => {
  test('a caller without a limit is not counted', () => {
    const { limiter } = setUp();
    expect(limiter.admit([], caller('a'), nowhere)).toBeNull();
    const others = [limit('free', { requestsPerMinute: 1 }, { match: ({ key }) => key.labels.get('tier') === 'free' })];
    for (let i = 0; i < 5; i++) expect(limiter.admit(others, caller('a'), nowhere)).toBeNull();
  });

  test('requests are allowed up to the limit at once, and one more after each refill', () => {
    const { limiter, clock } = setUp();
    const limits = [limit('all', { requestsPerMinute: 3 })];
    const one = () => limiter.admit(limits, caller('a'), nowhere);
    for (let i = 0; i < 3; i++) expect(refusal(one)).toBeNull();
    expect(refusal(one)).toEqual({ limit: 'all', kind: 'requests', waitMs: 20_000 });
    clock.now += 19_999.9;
    expect(refusal(one)).toEqual({ limit: 'all', kind: 'requests', waitMs: 1 });
    clock.now += 0.2;
    expect(refusal(one)).toBeNull();
    expect(refusal(one)?.waitMs).toBe(20_000);
  });

  test('requests are counted separately for each key, label or address', () => {
    const by = {
      key: EACH_KEY,
      label: { each: ({ key }: { key: { labels: ReadonlyMap<string, string> } }) => key.labels.get('team') ?? '' },
      address: { each: 'address' as const },
      everybody: {},
    };
    const passes = (more: Partial<RateLimit>) => {
      const { limiter } = setUp();
      const limits = [limit('one', { requestsPerMinute: 1 }, more)];
      const from = (keyId: string, team: string, address: string) =>
        refusal(() => limiter.admit(limits, caller(keyId, { team }), address)) === null;
      return [from('a', 'red', '1'), from('b', 'red', '1'), from('a', 'blue', '1'), from('a', 'red', '2')];
    };
    expect(passes(by.key)).toEqual([true, true, false, false]);
    expect(passes(by.label)).toEqual([true, false, true, false]);
    expect(passes(by.address)).toEqual([true, false, false, true]);
    expect(passes(by.everybody)).toEqual([true, false, false, false]);
  });

  test('requests count in a limit whose `match` fails with an error, and an `each` that fails is the empty text', () => {
    const { limiter } = setUp();
    const fail = () => {
      throw new Error('no');
    };
    const limits = [limit('one', { requestsPerMinute: 1 }, { match: fail, each: fail })];
    expect(refusal(() => limiter.admit(limits, caller('a'), nowhere))).toBeNull();
    expect(refusal(() => limiter.admit(limits, caller('b'), nowhere))?.limit).toBe('one');
  });

  test('requests must pass all limits, and a refused request counts in none', () => {
    const { limiter, clock } = setUp();
    const limits = [limit('wide', { requestsPerMinute: 4 }), limit('narrow', { requestsPerMinute: 2 }, EACH_KEY)];
    const from = (keyId: string) => refusal(() => limiter.admit(limits, caller(keyId), nowhere));
    expect([from('a'), from('a')]).toEqual([null, null]);
    // None of these requests uses up what is left of `wide`.
    for (let i = 0; i < 10; i++) expect(from('a')?.limit).toBe('narrow');
    expect([from('b'), from('b')]).toEqual([null, null]);
    // The limit with the longest wait is reported.
    expect(from('a')).toEqual({ limit: 'narrow', kind: 'requests', waitMs: 30_000 });
    expect(from('c')).toEqual({ limit: 'wide', kind: 'requests', waitMs: 15_000 });
    clock.now += 15_000;
    expect(from('c')).toBeNull();
  });

  test('requests must pass a key’s own limits in addition to the limits of the policy', () => {
    const { limiter } = setUp();
    const own = { ...NO_FIGURES, requestsPerMinute: 1 };
    const limits = [limit('all', { requestsPerMinute: 3 })];
    const from = (keyId: string, figures: KeyLimits | null) =>
      refusal(() => limiter.admit(limits, caller(keyId, {}, figures), nowhere));
    expect(from('a', own)).toBeNull();
    expect(from('a', own)).toEqual({ limit: 'api-key', kind: 'requests', waitMs: 60_000 });
    expect(from('b', own)).toBeNull();
    expect(from('c', null)).toBeNull();
    expect(from('c', null)?.limit).toBe('all');
    expect(refusal(() => limiter.admit([], caller('a', {}, own), nowhere))?.limit).toBe('api-key');
  });
});

describe('tokens', () => {
  const limits = [limit('tokens', { tokensPerMinute: 1_000 })];

  test('tokens count as expected at once, and as used at the end', () => {
    const { limiter } = setUp();
    const left = () => admitted(limiter.admit(limits, caller('a'), nowhere)).headers()['x-ratelimit-remaining-tokens'];
    const first = admitted(limiter.admit(limits, caller('a'), nowhere));
    first.begin(false, 600);
    expect(left()).toBe('400');
    first.end(100);
    expect(left()).toBe('900');
    const second = admitted(limiter.admit(limits, caller('a'), nowhere));
    second.begin(false, 500);
    second.end(700);
    expect(left()).toBe('200');
  });

  test('tokens are refused with the time until there are enough, and none are taken', () => {
    const { limiter, clock } = setUp();
    const ask = (tokens: number) => {
      const quota = admitted(limiter.admit(limits, caller('a'), nowhere));
      const refused = refusal(() => quota.begin(false, tokens));
      quota.close();
      return refused;
    };
    expect(ask(900)).toBeNull();
    for (let i = 0; i < 3; i++) expect(ask(400)).toEqual({ limit: 'tokens', kind: 'tokens', waitMs: 18_000 });
    clock.now += 18_000;
    expect(ask(400)).toBeNull();
  });

  test('tokens used beyond the expected number are a debt, which is paid off first', () => {
    const { limiter, clock } = setUp();
    const first = admitted(limiter.admit(limits, caller('a'), nowhere));
    first.begin(false, 10);
    first.end(3_000);
    const ask = () => refusal(() => admitted(limiter.admit(limits, caller('a'), nowhere)).begin(false, 1));
    expect(ask()?.waitMs).toBe(120_060);
    clock.now += 120_060;
    expect(ask()).toBeNull();
  });

  test('a request that needs more tokens than the limit is allowed while the bucket is full', () => {
    const { limiter, clock } = setUp();
    const ask = () => refusal(() => admitted(limiter.admit(limits, caller('a'), nowhere)).begin(false, 5_000));
    expect(ask()).toBeNull();
    expect(ask()?.waitMs).toBe(300_000);
    clock.now += 300_000;
    expect(ask()).toBeNull();
  });
});

describe('streams', () => {
  const limits = [limit('streams', { concurrentStreams: 2 }, EACH_KEY)];

  test('streams run up to the limit at the same time, until they end in any way', () => {
    const { limiter } = setUp();
    const open = () => {
      const quota = admitted(limiter.admit(limits, caller('a'), nowhere));
      quota.begin(true, 10);
      return quota;
    };
    const [first, second] = [open(), open()];
    expect(refusal(open)).toEqual({ limit: 'streams', kind: 'streams', waitMs: 1_000 });
    first.end(10);
    const third = open();
    expect(refusal(open)?.kind).toBe('streams');
    // Close without an end, and twice.
    second.close();
    second.close();
    second.end(5);
    open();
    expect(refusal(open)?.kind).toBe('streams');
    third.close();
    open();
    expect(refusal(open)?.kind).toBe('streams');
  });

  test('streams are counted separately from other requests', () => {
    const { limiter } = setUp();
    const open = (stream: boolean) =>
      refusal(() => admitted(limiter.admit(limits, caller('a'), nowhere)).begin(stream, 10))?.kind ?? null;
    const five = (stream: boolean) => Array.from({ length: 5 }, () => open(stream));
    expect(five(false)).toEqual([null, null, null, null, null]);
    // The running requests that are not streams use no stream, so all streams are allowed in addition.
    expect(five(true)).toEqual([null, null, 'streams', 'streams', 'streams']);
    expect(five(false)).toEqual([null, null, null, null, null]);
  });

  test('streams that are refused because of their tokens are not counted', () => {
    const { limiter } = setUp();
    const both = [limit('tokens', { tokensPerMinute: 100 }), ...limits];
    const ask = (tokens: number) => {
      const quota = admitted(limiter.admit(both, caller('a'), nowhere));
      const refused = refusal(() => quota.begin(true, tokens));
      quota.close();
      return refused?.kind ?? null;
    };
    expect(ask(60)).toBeNull();
    for (let i = 0; i < 5; i++) expect(ask(60)).toBe('tokens');
    expect(ask(40)).toBeNull();
  });
});

describe('a new policy', () => {
  test('a new policy keeps the use of a limit with the same name and subject; a changed limit keeps the relative level', () => {
    const { limiter } = setUp();
    const use = (limits: readonly RateLimit[], name = 'a') =>
      admitted(limiter.admit(limits, caller(name), nowhere)).headers()['x-ratelimit-remaining-requests'];
    const of = (requestsPerMinute: number, name = 'rule') => [limit(name, { requestsPerMinute }, EACH_KEY)];
    expect(use(of(10))).toBe('9');
    expect(use(of(10))).toBe('8');
    // 80 % of 100, minus one.
    expect(use(of(100))).toBe('79');
    expect(use(of(10))).toBe('6');
    expect(use(of(10), 'b')).toBe('9');
    expect(use(of(10, 'another'))).toBe('9');
  });

  test('a new policy counts the open streams, even if no limit counted them before', () => {
    const { limiter } = setUp();
    const open = (figures: Partial<KeyLimits>) => {
      const quota = admitted(limiter.admit([limit('rule', figures)], caller('a'), nowhere));
      quota.begin(true, 1);
      return quota;
    };
    const first = open({ requestsPerMinute: 100 });
    expect(refusal(() => open({ concurrentStreams: 1 }))?.kind).toBe('streams');
    first.end(1);
    open({ concurrentStreams: 1 });
  });

  test('a new policy applies to the end of requests that began before', () => {
    const { limiter } = setUp();
    const of = (tokensPerMinute: number) => [limit('rule', { tokensPerMinute })];
    const first = admitted(limiter.admit(of(1_000), caller('a'), nowhere));
    first.begin(false, 500);
    const left = () => admitted(limiter.admit(of(100), caller('a'), nowhere)).headers()['x-ratelimit-remaining-tokens'];
    expect(left()).toBe('50');
    first.end(480);
    expect(left()).toBe('70');
  });
});

describe('the headers', () => {
  test('the headers show for each kind the limit with the least left', () => {
    const { limiter, clock } = setUp();
    const limits = [
      limit('wide', { requestsPerMinute: 100, tokensPerMinute: 500 }),
      limit('narrow', { requestsPerMinute: 60, tokensPerMinute: 10_000 }),
      limit('streams', { concurrentStreams: 1 }),
    ];
    const quota = admitted(limiter.admit(limits, caller('a'), nowhere));
    quota.begin(false, 100);
    clock.now += 250;
    expect(quota.headers()).toEqual({
      'x-ratelimit-limit-requests': '60',
      'x-ratelimit-remaining-requests': '59',
      'x-ratelimit-reset-requests': '1s',
      'x-ratelimit-limit-tokens': '500',
      'x-ratelimit-remaining-tokens': '400',
      'x-ratelimit-reset-tokens': '12s',
    });
    const only = admitted(limiter.admit([limits[2]!], caller('b'), nowhere));
    expect(only.headers()).toEqual({});
  });

  test.each([
    [0, '0ms'],
    [12, '12ms'],
    [999, '999ms'],
    [1_000, '1s'],
    [1_500, '1.5s'],
    [7_660, '7.66s'],
    [59_999, '59.999s'],
    [60_000, '1m0s'],
    [360_000, '6m0s'],
    [61_001, '1m1.001s'],
    [3_600_000, '1h0m0s'],
    [90_061_000, '25h1m1s'],
  ])('%d ms are %s', (ms, text) => {
    expect(durationText(ms)).toBe(text);
  });
});

describe('memory', () => {
  const EACH_ADDRESS = { each: 'address' } as const;
  const MOST = 4_096;

  test('the memory for a hundred thousand subjects is bounded by the maximum of accounts', () => {
    const accounts = new LimitAccounts();
    const { limiter, clock } = setUp(accounts);
    let largest = 0;
    for (let i = 0; i < 100_000; i++) {
      if (i % 100 === 0) clock.now++;
      limiter.count('failed-auth', `address ${i}`, 30);
      largest = Math.max(largest, accounts.size);
    }
    expect(largest).toBe(32_768);
  });

  test('during a flood, the subjects that have used the most, and those with running requests, are kept', () => {
    const accounts = new LimitAccounts(MOST);
    const { limiter } = setUp(accounts);
    const limits = [limit('rule', { requestsPerMinute: 10 }, EACH_ADDRESS)];
    const from = (address: string) => refusal(() => atOnce(limiter.admit(limits, caller('a'), address))?.close());
    const running = admitted(limiter.admit([limit('streams', { concurrentStreams: 1 })], caller('a'), nowhere));
    running.begin(true, 1);
    for (let i = 0; i < 10; i++) expect(from('hammer')).toBeNull();
    for (let i = 0; i < 20 * MOST; i++) from(`flood ${i}`);
    expect(accounts.size).toBeLessThanOrEqual(MOST);
    expect(from('hammer')?.limit).toBe('rule');
    const again = () => admitted(limiter.admit([limit('streams', { concurrentStreams: 1 })], caller('a'), nowhere));
    expect(refusal(() => again().begin(true, 1))?.kind).toBe('streams');
  });

  test('accounts in use may exceed the maximum, without a sweep for each new one', () => {
    const accounts = new LimitAccounts(MOST);
    const { limiter } = setUp(accounts);
    const limits = [limit('rule', { concurrentStreams: 1 }, EACH_ADDRESS)];
    const open = Array.from({ length: 4 * MOST }, (_, i) => {
      const quota = admitted(limiter.admit(limits, caller('a'), `address ${i}`));
      quota.begin(true, 1);
      return quota;
    });
    expect(accounts.size).toBe(4 * MOST);
    for (const quota of open) quota.close();
    for (let i = 0; i < 2 * MOST; i++) limiter.count('keyless', `flood ${i}`, 60);
    expect(accounts.size).toBeLessThanOrEqual(2 * MOST);
  });

  test('full accounts are dropped first', () => {
    const accounts = new LimitAccounts(MOST);
    const { limiter, clock } = setUp(accounts);
    for (let i = 0; i < MOST; i++) limiter.count('keyless', `early ${i}`, 60);
    clock.now += 60_000;
    limiter.count('keyless', 'late', 60);
    expect(accounts.size).toBe(1);
  });
});
