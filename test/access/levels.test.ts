import { describe, expect, test } from 'bun:test';
import { Levels, type LevelTerms, Lines, type PeopleTerms } from '../../src/access/levels.ts';
import { Limiter } from '../../src/access/limits/limiter.ts';
import type { SignalboxError } from '../../src/core/errors.ts';
import type { Caller, KeyLimits } from '../../src/core/people/caller.ts';
import { shortageErrorOf } from '../../src/gateway/money/shortage.ts';
import type { FundShortage } from '../../src/ledger/available-funds.ts';
import { listedFor, mayUse } from '../../src/routing/model-name.ts';
import { caller } from '../ledger/support.ts';
import { loadText, SMALL, snapshotOf } from '../policy/support.ts';
import { atOnce } from './limits/support.ts';

const perMinute = (requestsPerMinute: number): KeyLimits => ({
  requestsPerMinute,
  tokensPerMinute: null,
  concurrentStreams: null,
});

const ORGANIZATION: LevelTerms = { kind: 'organization', id: '', name: '', models: null, limits: null };
const SEARCH: LevelTerms = { kind: 'team', id: 'team_1', name: 'search', models: null, limits: null };
const ADA: LevelTerms = { kind: 'user', id: 'user_1', name: 'Ada', models: null, limits: null };

/** Replaces the people of a store. */
class StandIn implements PeopleTerms {
  version = 1;
  all: readonly LevelTerms[] = [];
  termsOf({ team, user }: Pick<Caller, 'team' | 'user'>): readonly LevelTerms[] {
    return this.all.filter(({ kind, id }) => kind === 'organization' || id === (kind === 'team' ? team : user));
  }
  budgets() {
    return [];
  }
  now(...all: LevelTerms[]): void {
    this.all = all;
    this.version++;
  }
}

/** Creates a key of Ada in the team search, and a child key of it. */
function setUp() {
  const people = new StandIn();
  const of = { team: 'team_1', user: 'user_1' };
  const root: Caller = { ...caller('root'), ...of };
  const key: Caller = { ...caller('key'), ...of, parent: root, line: ['root'] };
  return { people, levels: new Levels(people), root, key, other: { ...key, keyId: 'other' } };
}

const refusalOf = (act: () => unknown): SignalboxError => {
  try {
    act();
  } catch (cause) {
    return cause as SignalboxError;
  }
  throw new Error('it was not refused');
};

describe('the levels of a caller', () => {
  test('the levels of a caller are computed once, and again when its team, its user or the organization has changed', () => {
    const { levels, people, key } = setUp();
    const kinds = (one: Caller) => (one.levels ?? []).map(({ kind, id }) => [kind, id]);
    expect(levels.of(key)).toBe(key);
    people.now(ADA, SEARCH, { ...ORGANIZATION, models: ['m'] });
    const first = levels.of(key);
    expect(kinds(first)).toEqual([
      ['user', 'user_1'],
      ['team', 'team_1'],
      ['organization', ''],
    ]);
    expect(levels.of(key)).toBe(first);
    people.now({ ...SEARCH, models: ['m'] });
    expect(levels.of(key).levels?.[0]?.models).toEqual(new Set(['m']));
    people.now(ORGANIZATION);
    expect(levels.of(key)).toBe(key);
  });

  test('the levels of a caller begin with the line of its key, from memory, or from the store for keys that are no longer in memory', async () => {
    const parents: Readonly<Record<string, string | null>> = { root: null, key: 'root', grandchild: 'key' };
    const named = async (ids: Iterable<string>) =>
      new Map([...ids].flatMap((id) => (id in parents ? [[id, { parent: parents[id] ?? null }] as const] : [])));
    const lines = new Lines({ lineOf: (id) => (id === 'here' ? ['root'] : null), named, idsBelow: async () => [] });
    const all = ['here', 'grandchild', 'root', 'nobody'];
    expect(all.map(lines.lineOf)).toEqual([['root'], [], [], []]);
    const lineOf = await lines.linesOf(all.slice(1));
    expect(all.map(lineOf)).toEqual([[], ['key', 'root'], [], []]);
    expect(all.map(lines.lineOf)).toEqual([['root'], ['key', 'root'], [], []]);
  });
});

describe('models', () => {
  test('a caller may use a model only if the list of each level has the model or its wildcard', () => {
    const { levels, people, key } = setUp();
    people.now({ ...SEARCH, models: ['up/*', 'b'] }, { ...ORGANIZATION, models: ['up/*', 'b', 'c'] });
    const bound = levels.of({ ...key, models: new Set(['up/a', 'b', 'c']) });
    expect(mayUse(bound, { id: 'up/a', pattern: 'up/*' })).toBe(true);
    // A model with its own entry does not belong to a wildcard.
    expect(mayUse(bound, { id: 'up/a' })).toBe(false);
    expect(mayUse(bound, { id: 'b' })).toBe(true);
    expect(mayUse(bound, { id: 'c' })).toBe(false);
    expect(listedFor(bound)).toEqual(['b']);
    expect(listedFor(key)).toBeNull();
  });
});

describe('rate limits', () => {
  test('the rate limits of each level apply, each shared by everything in the level', () => {
    const { levels, people, key, other, root } = setUp();
    const limiter = new Limiter(() => 1_000);
    const admit = (one: Caller) => limiter.admit([], levels.of(one), '');
    people.now({ ...SEARCH, limits: perMinute(1) }, { ...ADA, limits: perMinute(3) }, ORGANIZATION);
    admit(key);
    const refused = refusalOf(() => admit(other));
    expect(refused.message).toStartWith('The rate limit of the team `search` allows 1 request a minute');
    expect(refused.info.details).toEqual({ limit: 'team', kind: 'requests' });
    people.now(SEARCH, { ...ADA, limits: perMinute(3) }, { ...ORGANIZATION, limits: perMinute(1) });
    admit(root);
    expect(refusalOf(() => admit(other)).message).toStartWith('The rate limit of the organization allows 1 request');
    people.now({ ...ADA, limits: perMinute(3) });
    admit(other);
    expect(refusalOf(() => admit(key)).message).toStartWith('The rate limit of the user `Ada` allows 3 requests');
  });

  test('a rate limit that refuses a request counts nothing at the other levels', () => {
    const { levels, people, key } = setUp();
    const limiter = new Limiter(() => 1_000);
    people.now({ ...SEARCH, limits: perMinute(1) }, { ...ADA, limits: perMinute(2) });
    limiter.admit([], levels.of(key), '');
    for (let at = 0; at < 5; at++) refusalOf(() => limiter.admit([], levels.of(key), ''));
    people.now(SEARCH, { ...ADA, limits: perMinute(2) });
    const quota = atOnce(limiter.admit([], levels.of(key), ''));
    expect(quota?.headers()['x-ratelimit-remaining-requests']).toBe('0');
  });
});

describe('a refusal for money', () => {
  const title = { kind: 'budget', name: 'team-month', subject: 'team_1', definition: '', starts: 0, ends: 1 } as const;
  const short = (over: Partial<FundShortage>): FundShortage => ({
    title,
    ...{ why: 'exhausted', kind: 'budget', name: 'team-month', subject: 'team_1', window: 'month', level: 'team' },
    ...{ limit: 1_000_000, spent: 900_000, held: 0, needed: 200_000, renewsAt: null, timeZone: 'UTC' },
    ...over,
  });

  test('the error about a budget names the level and its owner, with its amounts', () => {
    const { levels, people, key } = setUp();
    people.now(SEARCH, ADA, ORGANIZATION);
    const bound = levels.of(key);
    const team = shortageErrorOf(short({}), bound, '0.001');
    expect(team.message).toStartWith(
      'The monthly budget of the team `search` has spent 0.9 of its 1 Credit (0.0009 of 0.001 USD).',
    );
    expect(team.info.details).toMatchObject({
      budget: 'team-month',
      subject: 'team_1',
      level: 'team',
      spent_credits: 0.9,
      spent_usd: '0.0009',
      limit_usd: '0.001',
    });
    const user = short({ name: 'user-day', subject: 'user_1', level: 'user', window: 'day', limit: 100_000 });
    expect(shortageErrorOf(user, bound, '0.001').message).toStartWith(
      'The daily budget of the user `Ada` is 0.1 Credits (0.0001 USD) in total',
    );
    const all = short({ name: 'organization-total', subject: '', level: 'organization', window: 'total' });
    expect(shortageErrorOf(all, bound, '0.001').message).toStartWith('The budget of the organization has spent 0.9');
    const own = short({ name: 'key-week', subject: 'key', level: 'key', window: 'week' });
    expect(shortageErrorOf(own, bound, '0.001').message).toStartWith('The weekly budget of this API key has spent 0.9');
    const ofPolicy = short({ name: 'ours', subject: 'x', level: null });
    expect(shortageErrorOf(ofPolicy, bound, '0.001').message).toStartWith('The budget `ours` of `x` has spent 0.9');
  });

  test('the error about a budget shows no amounts of a key above the caller’s', () => {
    const { key } = setUp();
    for (const why of ['exhausted', 'contended'] as const) {
      for (const fund of [
        { name: 'key-day', subject: 'root', level: 'key', window: 'day' },
        { kind: 'balance', name: 'root', subject: '', level: null, window: undefined },
        { name: 'each', subject: 'root', level: null },
        { name: 'each-run', subject: 'root/session', level: null },
      ] as const) {
        const { message, info } = shortageErrorOf(short({ why, ...fund, needed: 5_000 }), key, '0.001');
        expect(message).toContain('of the parent key `root` of this API key');
        expect(message).not.toMatch(/0\.9|1 Credit/);
        const figures = Object.keys(info.details ?? {}).filter((name) => /_(credits|usd)$/.test(name));
        expect(figures).toEqual(['needed_credits', 'needed_usd']);
      }
    }
  });
});

describe('conditions of a policy', () => {
  test('conditions of rate limits see the team and the user of a key, with their names and the role', () => {
    const { levels, people, key, root } = setUp();
    const { rateLimits: limits } = snapshotOf(
      loadText(`${SMALL}rate_limits:
  - { name: leads, match: 'user.role == "lead" && team.name == "search"', each: user, requests_per_minute: 1 }
`),
    );
    const limiter = new Limiter(() => 1_000);
    people.now({ ...ADA, role: 'lead' }, SEARCH);
    limiter.admit(limits, levels.of(key), '');
    expect(refusalOf(() => limiter.admit(limits, levels.of(root), '')).message).toContain('The rate limit `leads`');
    people.now({ ...ADA, role: 'member' }, SEARCH);
    expect(limiter.admit(limits, levels.of(key), '')).toBeNull();
    expect(limiter.admit(limits, caller('nobody'), '')).toBeNull();
  });
});
