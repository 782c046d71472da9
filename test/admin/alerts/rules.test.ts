import { describe, expect, test } from 'bun:test';
import { FLAP_MS, GATHER_MS } from '../../../src/admin/alerts/rules.ts';
import { CACHED_INPUT_MIN, CACHED_PROMPTS_MIN } from '../../../src/core/tables/alerts/cached-share.ts';
import { STATED_MIN, type StatedReading } from '../../../src/core/tables/alerts/stated-cost.ts';

import {
  budget,
  DAY_MS,
  END,
  guard,
  House,
  key,
  keyShare,
  provider,
  providerKey,
  rule,
  START,
  statedReading,
} from './support.ts';

const NOON = START + 12 * 3_600_000;

describe('a share of a budget', () => {
  const shares = () => new House([rule({ on: 'budget_share', at: [0.5, 0.8, 1], budgets: [] })]);

  test('a budget is reported once in its window, for the highest threshold that it reached', () => {
    const house = shares();
    expect(house.lines({ budgets: [budget(0.3)] }, NOON)).toEqual([]);
    expect(house.lines({ budgets: [budget(0.85)] }, NOON)).toEqual([
      'alert: Budget “month of search” has spent 85 % of its 1 Credit; the budget renews at 2026-12-01 00:00 UTC.',
    ]);
    expect(house.lines({ budgets: [budget(0.99)] }, NOON + GATHER_MS)).toEqual([]);
    expect(house.lines({ budgets: [budget(1)] }, NOON + GATHER_MS)).toHaveLength(1);
    const raised = budget(1, { limit: 1_700_000, spent: 1_000_000 });
    expect(house.lines({ budgets: [raised] }, NOON + 2 * GATHER_MS)).toEqual([]);
    const next = budget(0.5, { starts: END, ends: END + 31 * DAY_MS });
    expect(house.lines({ budgets: [next] }, END + 1)).toHaveLength(1);
  });

  test('budgets of several subjects are reported in one message, the fullest first; later ones wait and are sent together', () => {
    const house = shares();
    const of = (...figures: readonly [string, number][]) => ({
      budgets: figures.map(([subject, share]) => budget(share, { subject })),
    });
    const [first] = house.look(of(['a', 0.6], ['b', 0.9], ['c', 0.1]), NOON).alerts;
    expect(first?.findings.map(({ subject }) => subject.subject)).toEqual(['b', 'a']);
    const more = of(['a', 0.6], ['b', 0.9], ['c', 0.7], ['d', 0.7]);
    expect(house.lines(more, NOON + GATHER_MS - 1)).toEqual([]);
    expect(house.lines(more, NOON + GATHER_MS)).toHaveLength(2);
  });

  test('a rule reports only the budgets that it names, and never a limit of 0', () => {
    const house = new House([rule({ on: 'budget_share', at: [1], budgets: ['other'] })]);
    const budgets = [budget(1), budget(1, { name: 'other' }), budget(1, { name: 'other', subject: 'none', limit: 0 })];
    expect(house.lines({ budgets }, NOON)).toEqual([
      expect.stringContaining('Budget “other of search” has spent 100 %'),
    ]);
  });

  test('a budget that refuses requests is reported at 1, in both units, before it is used up', () => {
    const refusing = budget(0.97, { refused: 442_000, usdPerCredit: '0.001' });
    expect(
      new House([rule({ on: 'budget_share', at: [0.99], budgets: [] })]).lines({ budgets: [refusing] }, NOON),
    ).toEqual([]);
    const house = shares();
    expect(house.lines({ budgets: [refusing] }, NOON)).toEqual([
      'alert: Budget “month of search” refuses requests: it has 0.03 Credits (0.00003 USD) left of 1 Credit (0.001 USD), and a request needs 0.44 Credits (0.00044 USD); the budget renews at 2026-12-01 00:00 UTC.',
    ]);
    expect(house.lines({ budgets: [budget(1)] }, NOON + GATHER_MS)).toEqual([]);
  });

  test('a budget without an end is reported only once', () => {
    const house = new House([rule({ on: 'budget_share', at: [1], budgets: [] })]);
    const endless = { budgets: [budget(1, { subject: '', starts: 0, ends: Number.POSITIVE_INFINITY })] };
    expect(house.lines(endless, NOON)).toEqual(['alert: Budget “month” has spent 100 % of its 1 Credit.']);
    expect(house.lines(endless, NOON + 900 * DAY_MS)).toEqual([]);
    expect([...house.marks.values()].every(({ until }) => Number.isSafeInteger(until))).toBe(true);
  });
});

test('a forecast beyond the limit is reported once in its window', () => {
  const house = new House([rule({ on: 'budget_forecast', budgets: [] })]);
  const at = (forecast: number | null) => ({ budgets: [budget(0.4, { forecast })] });
  expect([house.lines(at(null), NOON), house.lines(at(1_000_000), NOON)]).toEqual([[], []]);
  expect(house.lines(at(1_300_000), NOON)).toEqual([
    'alert: Budget “month of search” would spend 1.3 Credits at its current rate, 130 % of its limit; it has spent 0.4 Credits; the budget renews at 2026-12-01 00:00 UTC.',
  ]);
  expect(house.lines(at(1_400_000), NOON + 9 * DAY_MS)).toEqual([]);
});

test('no forecast is reported of a budget that is used up or refuses requests', () => {
  const house = new House([rule({ on: 'budget_forecast', budgets: [] })]);
  for (const one of [budget(1, { forecast: 2_000_000 }), budget(0.97, { forecast: 2_000_000, refused: 442_000 })])
    expect(house.lines({ budgets: [one] }, NOON)).toEqual([]);
});

describe('a key near its expiry', () => {
  const expiry = () => new House([rule({ on: 'key_expiry', days: [14, 3, 1] })]);

  test('a key is reported once for each number of days before its expiry', () => {
    const house = expiry();
    const told = [20, 14, 13, 3, 2.9, 0.5, 0.1, -1].map((left) => {
      return house.lines({ keys: [key(END)] }, END - left * DAY_MS).length;
    });
    expect(told).toEqual([0, 1, 0, 1, 0, 1, 0, 0]);
  });

  test('a key close to its expiry is reported only for the nearest number of days, not for earlier ones', () => {
    const house = expiry();
    expect(house.lines({ keys: [key(END)] }, END - 2 * DAY_MS)).toEqual([
      'alert: Key ci (k1) expires in 2 days, at 2026-12-01 00:00 UTC.',
    ]);
    expect(house.lines({ keys: [key(END)] }, END - 2 * DAY_MS + GATHER_MS)).toEqual([]);
  });

  test('a key is reported again after its expiry was changed', () => {
    const house = expiry();
    expect(house.lines({ keys: [key(END)] }, END - DAY_MS)).toHaveLength(1);
    expect(house.lines({ keys: [key(END + 5 * DAY_MS)] }, END)).toHaveLength(1);
  });

  test('a key is not reported if its whole life is shorter than the number of days', () => {
    const house = expiry();
    const hourly = key(START + 3_600_000);
    expect(house.lines({ keys: [hourly] }, START + 1)).toEqual([]);
    const weekly = key(START + 7 * DAY_MS);
    expect(house.lines({ keys: [weekly] }, START + 1)).toEqual([]);
    expect(house.lines({ keys: [weekly] }, START + 5 * DAY_MS)).toHaveLength(1);
  });
});

describe('what lasts', () => {
  const down = (since: number) => ({ providers: [provider({ downSince: since, shut: 2 })] });
  const up = { providers: [provider({ isUp: true })] };
  const unknown = { providers: [provider()] };
  const outage = () => new House([rule({ on: 'provider_down', afterMs: 60_000 })]);

  test('a provider that is down is reported after it has lasted, and again when it is over', () => {
    const house = outage();
    expect(house.lines(down(NOON), NOON + 59_999)).toEqual([]);
    expect(house.lines(down(NOON), NOON + 60_000)).toEqual([
      'alert: All requests to provider openai have failed for 60 s. All of its 2 endpoints are unavailable.',
    ]);
    expect(house.lines(down(NOON), NOON + DAY_MS)).toEqual([]);
    expect(house.lines(unknown, NOON + DAY_MS)).toEqual([]);
    expect(house.lines(up, NOON + DAY_MS)).toEqual([
      'recovery: Provider openai answers again. The alert was sent 24 h ago.',
    ]);
    expect(house.lines(up, NOON + DAY_MS)).toEqual([]);
  });

  test('the endpoints of a provider that is down are counted in plain words', () => {
    const lineOf = (shut: number, endpoints: number) =>
      outage().lines({ providers: [provider({ downSince: NOON, shut, endpoints })] }, NOON + 60_000)[0];
    expect([lineOf(1, 1), lineOf(1, 3), lineOf(2, 3), lineOf(3, 3)].map((line) => line?.split('. ')[1])).toEqual([
      'Its endpoint is unavailable.',
      '1 of its 3 endpoints is unavailable.',
      '2 of its 3 endpoints are unavailable.',
      'All of its 3 endpoints are unavailable.',
    ]);
  });

  test('a provider without credit is reported at once, with what to do', () => {
    const house = outage();
    const unpaid = { providers: [provider({ downSince: NOON, shut: 2, isUnpaid: true })] };
    expect(house.lines(unpaid, NOON)).toEqual([
      'alert: The account at provider openai has no credit left. Add credit there. Signalbox tries the provider again once a minute.',
    ]);
    expect(house.lines(up, NOON + DAY_MS)).toHaveLength(1);
  });

  test('a provider that fails again is reported at once, and within two minutes of its recovery only if it still fails then', () => {
    const house = outage();
    const begun = NOON + 60_000;
    expect(house.lines(down(NOON), begun)).toHaveLength(1);
    expect(house.lines(up, begun + 1)).toHaveLength(1);
    expect(house.lines(down(NOON), begun + FLAP_MS)).toEqual([]);
    expect(house.lines(down(NOON), begun + FLAP_MS + 1)).toHaveLength(1);
    expect(house.lines(up, begun + FLAP_MS + 2)).toHaveLength(1);
    expect(house.lines(down(NOON), begun + 3 * FLAP_MS)).toHaveLength(1);
  });

  test('a guard that fails at every request is reported with its last error and the ID of the request', () => {
    const house = new House([rule({ on: 'guard_failing', afterMs: 60_000 })]);
    expect(house.lines({ guards: [guard(3, NOON)] }, NOON + 59_999)).toEqual([]);
    expect(house.lines({ guards: [guard(3, NOON)] }, NOON + 60_000)).toEqual([
      'alert: Guard pii has failed at every request for 60 s. The last error, of req_1: connection refused',
    ]);
    expect(house.lines({ guards: [guard(9, NOON)] }, NOON + DAY_MS)).toEqual([]);
    expect(house.lines({ guards: [guard(0)] }, NOON + DAY_MS)).toEqual([
      'recovery: Guard pii works again. The alert was sent 24 h ago.',
    ]);
  });

  test('each key that a provider refuses is reported at once', () => {
    const house = new House([rule({ on: 'key_refused' })]);
    const one = providerKey({ key: null, refused: 1 });
    expect(
      house.lines({ providerKeys: [providerKey(), one, providerKey({ key: 'B', state: 'accepted' })] }, NOON),
    ).toEqual([
      'alert: Provider openai refuses the key OPENAI_API_KEY_2. The key may be revoked: replace it.',
      'alert: Provider openai refuses its key for 1 of its 3 endpoints. The key may have no access to these models.',
    ]);
    expect(house.lines({ providerKeys: [providerKey({ state: 'unknown' })] }, NOON + DAY_MS)).toEqual([]);
    expect(house.lines({ providerKeys: [providerKey({ state: 'accepted' })] }, NOON + DAY_MS)).toEqual([
      'recovery: Provider openai accepts the key OPENAI_API_KEY_2 again. The alert was sent 24 h ago.',
    ]);
  });

  test('a share of errors is reported above its limit, and again when it is a fifth below', () => {
    const house = new House([rule({ on: 'error_rate', above: 0.1, windowMs: 300_000 })]);
    expect(house.lines({ errors: 0.1 }, NOON)).toEqual([]);
    expect(house.lines({ errors: 0.25 }, NOON)).toEqual([
      'alert: 25 % of the requests in the last 5 min ended with an error (25 of 100), more than 10 %.',
    ]);
    const named = new House([rule({ on: 'error_rate', above: 0.1, windowMs: 300_000 })]);
    const mostFrequent = { code: 'upstream_failed', provider: 'openai', errors: 19 } as const;
    const [alert] = named.look({ errors: 0.25, mostFrequent }, NOON).alerts;
    expect(alert?.findings).toMatchObject([
      {
        line: '25 % of the requests in the last 5 min ended with an error (25 of 100), more than 10 %. The most frequent error was upstream_failed at provider openai (19 of 25).',
        subject: { error: 'upstream_failed', provider: 'openai' },
      },
    ]);
    expect(house.lines({ errors: 0.09 }, NOON)).toEqual([]);
    expect(house.lines({ errors: 0.08 }, NOON)).toEqual([
      'recovery: Only 8 % of the requests end with an error again.',
    ]);
  });

  test('slow answers are reported above their limit, and again when they are a fifth below', () => {
    const house = new House([rule({ on: 'slow_answers', aboveMs: 5_000, windowMs: 300_000 })]);
    expect(house.lines({ slowMs: 5_000 }, NOON)).toEqual([]);
    expect(house.lines({ slowMs: 7_300 }, NOON)).toEqual([
      'alert: One of 10 answers in the last 5 min began after 7.3 s or later, more than 5.0 s.',
    ]);
    const named = new House([rule({ on: 'slow_answers', aboveMs: 5_000, windowMs: 300_000 })]);
    const [alert] = named.look({ slowMs: 7_300, slowest: { model: 'big', answers: 8, of: 10 } }, NOON).alerts;
    expect(alert?.findings).toMatchObject([
      {
        line: 'One of 10 answers in the last 5 min began after 7.3 s or later, more than 5.0 s. The slowest model was big, with 8 of the 10 slow answers.',
        subject: { model: 'big' },
      },
    ]);
    expect(house.lines({ slowMs: 4_500 }, NOON)).toEqual([]);
    expect(house.lines({ slowMs: 4_000 }, NOON)).toEqual(['recovery: 9 of 10 answers begin within 4.0 s again.']);
  });

  test('the server that reported a problem also reports its end, or another server once that server is gone', () => {
    const house = outage();
    house.look(down(NOON), NOON + 60_000);
    expect(house.lines(up, NOON + 120_000, { mayClose: () => false })).toEqual([]);
    expect(house.lines(up, NOON + 120_000)).toHaveLength(1);
  });

  test('an alert about a provider that the policy no longer has is closed without a message', () => {
    const house = outage();
    house.look(down(NOON), NOON + 60_000);
    const { alerts, stale } = house.look({}, NOON + DAY_MS);
    expect([alerts, stale.length]).toEqual([[], 1]);
  });

  test('a refused policy is reported', () => {
    const house = new House([rule({ on: 'policy_refused' })]);
    const refusal = { message: 'The policy has 1 error.', first: 'p.yaml:3:1 unknown-key: no', time: NOON };
    expect(house.lines({}, NOON)).toEqual([]);
    expect(house.lines({ refusal }, NOON)).toEqual([
      'alert: An edit of the policy was refused. The previous policy stays active. p.yaml:3:1 unknown-key: no',
    ]);
    expect(house.lines({ refusal: { ...refusal, first: null } }, NOON + DAY_MS)).toEqual([]);
    expect(house.lines({}, NOON + DAY_MS)).toHaveLength(1);
  });

  test('servers that run different policies for a minute are reported', () => {
    const house = new House([rule({ on: 'policy_split', afterMs: 60_000 })]);
    const instances = ['aaaa', 'aaaa', 'bbbb'].map((revision, at) => {
      return { name: `host:${at}`, revision, error: at === 2 ? 'policy.yaml:3:1 unknown-key: no' : null };
    });
    const split = { since: NOON, instances };
    expect(house.lines({ split }, NOON + 59_999)).toEqual([]);
    expect(house.lines({ split }, NOON + 60_000)).toEqual([
      'alert: The servers have run different policies for 60 s: 2 servers run aaaa, 1 server runs bbbb. Server host:2 refused another policy: policy.yaml:3:1 unknown-key: no',
    ]);
    expect(house.lines({ split }, NOON + 120_000)).toEqual([]);
    expect(house.lines({}, NOON + 180_000)).toEqual([
      'recovery: All servers use the same policy again. The alert was sent 2 min ago.',
    ]);
  });

  test('a low share of cached tokens is reported, and counts as recovered only clearly above the limit', () => {
    const house = new House([rule({ on: 'cached_share', below: 0.4, windowMs: 3_600_000, each: null })]);
    const at = (share: number, input = CACHED_INPUT_MIN) => ({ cached: [input, input * share] as const });
    expect(house.lines(at(0.1, CACHED_INPUT_MIN - 1), NOON)).toEqual([]);
    expect(house.lines(at(0.4), NOON)).toEqual([]);
    expect(house.lines(at(0.39), NOON)).toEqual([
      'alert: Providers had only 39 % of the input tokens of the last 60 min in their caches, less than 40 %. The beginning of your prompts may have changed.',
    ]);
    expect(house.lines(at(0.43), NOON + DAY_MS)).toEqual([]);
    expect(house.lines(at(0.45), NOON + DAY_MS)).toEqual([
      'recovery: Providers have 45 % of the input tokens in their caches again.',
    ]);
  });

  test('each key has its own alert about its cached share, which names the key', () => {
    const house = new House([rule({ on: 'cached_share', below: 0.4, windowMs: 3_600_000, each: 'key' })]);
    const at = (one: number, two: number) => ({ shares: [keyShare(one, 'k1'), keyShare(two, 'k2')] });
    expect(house.lines(at(0.4, 0.1), NOON)).toEqual([
      'alert: Providers had only 10 % of the input tokens of key ci (k2) in the last 60 min in their caches, less than 40 %. The beginning of its prompts may have changed.',
    ]);
    const [alert] = house.look(at(0.2, 0.1), NOON + DAY_MS).alerts;
    expect(alert?.findings.map(({ subject }) => subject)).toEqual([
      { key_id: 'k1', name: 'ci', share: 0.2, below: 0.4, input_tokens: 1_000_000, cached_tokens: 200_000 },
    ]);
    expect(house.lines(at(0.2, 0.9), NOON + 2 * DAY_MS)).toEqual([
      'recovery: Providers have 90 % of the input tokens of key ci (k2) in their caches again.',
    ]);
    const { alerts, stale } = house.look({ shares: [] }, NOON + 3 * DAY_MS);
    expect([alerts, stale.map(({ mark }) => mark.state)]).toEqual([[], ['closed']]);
  });

  test('stated costs that differ from the prices are reported, in both directions, after enough attempts', () => {
    const house = new House([rule({ on: 'stated_cost_differs', above: 0.05, windowMs: 3_600_000 })]);
    const at = (factor: number, more: Partial<StatedReading> = {}) => ({ stated: [statedReading(factor, more)] });
    expect(house.lines(at(1.2, { attempts: STATED_MIN - 1 }), NOON)).toEqual([]);
    expect(house.lines(at(1.05), NOON)).toEqual([]);
    expect(house.lines(at(0.5), NOON)).toEqual([
      'alert: The answers of best at router stated costs of 0.0005 USD in the last 60 min, but the policy’s prices make 0.001 USD. They state 50 % less, above 5 %.',
    ]);
    expect(house.lines(at(1.045), NOON + DAY_MS)).toEqual([]);
    expect(house.lines(at(1.04), NOON + DAY_MS)).toEqual([
      'recovery: The costs that best at router states are like the policy’s prices again.',
    ]);
    const [alert] = house.look(at(1.5), NOON + 2 * DAY_MS).alerts;
    expect(alert?.findings.map(({ subject }) => subject)).toEqual([
      { model: 'best', provider: 'router', attempts: 20, stated_usd: '0.0015', own_usd: '0.001', share: 0.5 },
    ]);
  });

  test('a key with few prompts or few tokens causes no alert', () => {
    const house = new House([rule({ on: 'cached_share', below: 0.4, windowMs: 3_600_000, each: 'key' })]);
    const linesOf = (more: { input?: number; prompts?: number }) =>
      house.lines({ shares: [keyShare(0, 'k1', { cached: 0, ...more })] }, NOON);
    expect(linesOf({ prompts: CACHED_PROMPTS_MIN - 1 })).toEqual([]);
    expect(linesOf({ input: CACHED_INPUT_MIN - 1 })).toEqual([]);
    expect(linesOf({ prompts: CACHED_PROMPTS_MIN, input: CACHED_INPUT_MIN })).toHaveLength(1);
  });
});
