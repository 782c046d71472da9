import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { FULL_SIGHT, sightOf } from '../../../src/admin/use-cases/sight.ts';
import { type TrafficQuery, trafficOf } from '../../../src/admin/use-cases/traffic/traffic.ts';
import type { DecisionOutcome } from '../../../src/core/decision/outcome.ts';
import { idAt } from '../../../src/core/id.ts';
import { type Caller, OPERATOR } from '../../../src/core/people/caller.ts';
import { iso } from '../../../src/core/time/clock.ts';
import { StoreError } from '../../../src/store/store.ts';
import { tries } from '../../deep/effort.ts';
import { record } from '../../gateway/records/support.ts';
import { openMemoryStore } from '../../store/memory/driver.ts';

const NOON = Date.UTC(2026, 10, 20, 12);
const outcome: DecisionOutcome = {
  ...{ status: 'completed', error: null, attempts: [], usage: null, estimated: false, charged: 0, saved: 0 },
  ...{ firstPartMs: null, totalMs: 10, cappedBy: null, usageReplaced: false },
};

interface TestKey {
  readonly id: string;
  readonly name: string;
  readonly team: string;
  readonly user: string;
  readonly asked: number;
  readonly of: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** The test's keys with their team, their user and their requests. `moved` belonged to the red team at the time of its requests. */
const KEYS: readonly TestKey[] = [
  { id: 'own', name: 'mine', team: 'red', user: 'u1', asked: 1, of: 'red', labels: { env: 'a', use: 'chat' } },
  { id: 'mate', name: 'shared', team: 'red', user: 'u2', asked: 2, of: 'red', labels: { env: 'b=c', use: 'chat' } },
  { id: 'moved', name: 'moved', team: 'blue', user: 'u3', asked: 4, of: 'red', labels: { env: '' } },
  { id: 'other', name: 'shared', team: 'blue', user: 'u4', asked: 8, of: 'blue', labels: { 'env=a': 'x' } },
];

async function tell(caller: Caller, query: TrafficQuery) {
  const store = openMemoryStore(() => NOON);
  const records = KEYS.flatMap(({ id, asked, of: team, user, labels }, key) =>
    Array.from({ length: asked }, (_, at) =>
      record(idAt(NOON - 3_600_000) + key * 1_000 + at, NOON, {
        ...{ keyId: id, team, user, labels, outcome, choice: `m-${id}` },
      }),
    ),
  );
  await store.commit(records.map((one) => store.records.log.add(one)));
  const infos = KEYS;
  const sight = sightOf(caller, {
    keys: {
      known: (id) => infos.find((key) => key.id === id) ?? null,
      named: async () => new Map(),
      idsOf: async (of) => infos.flatMap(({ id, name }) => ('name' in of && name === of.name ? [id] : [])),
      idsWhere: (matches) => infos.filter(matches).map(({ id }) => id),
    },
    policy: () => ({ budgets: [], records: { reportedRuns: null } }),
  });
  const principal = { caller, actor: { kind: 'cli' as const, name: 'a', from: null } };
  const sources = { store, sight, nameOf: () => null, now: NOON };
  const body = await trafficOf(principal, sources, query);
  const lines = body.series.map(({ value, name, whole }) => [value, name, whole.requests] as const);
  return { total: body.total.whole.requests, lines: lines.sort(), other: body.other?.whole.requests ?? null };
}

const { scopes: _, ...application } = OPERATOR;
const person = (role: 'lead' | 'member'): Caller => ({ ...OPERATOR, role, keyId: 'u1', user: 'u1', team: 'red' });
const report: Caller = { ...application, keyId: 'r', scopes: new Set(['report']) };

test('an operator sees all traffic by the team at that time, with all further teams in one line', async () => {
  expect(await tell(OPERATOR, { by: 'team' })).toEqual({
    total: 15,
    lines: [
      ['blue', 'blue', 8],
      ['red', 'red', 7],
    ],
    other: null,
  });
  expect(await tell(OPERATOR, { by: 'key', limit: 1 })).toEqual({
    total: 15,
    lines: [['other', 'shared', 8]],
    other: 7,
  });
  expect(await tell(OPERATOR, { by: 'model', key: 'mate' })).toEqual({
    ...{ total: 2, lines: [['m-mate', 'm-mate', 2]], other: null },
  });
  expect(await tell(OPERATOR, { by: 'key', model: 'm-mate' })).toEqual({
    ...{ total: 2, lines: [['mate', 'shared', 2]], other: null },
  });
});

test('traffic is known from the first request on, to the minute', async () => {
  const store = openMemoryStore(() => NOON);
  const sources = { store, sight: FULL_SIGHT, nameOf: () => null };
  const principal = { caller: OPERATOR, actor: { kind: 'cli' as const, name: 'a', from: null } };
  const firstAt = async () => (await trafficOf(principal, { ...sources, now: NOON }, {})).firstAt;
  expect(await firstAt()).toBeNull();
  await store.commit([store.records.log.add(record(idAt(NOON - 3_599_000), NOON, { outcome }))]);
  expect(await firstAt()).toBe(Date.parse('2026-11-20T11:00:00.000Z'));
});

test('if the store cannot count the latest requests, a traffic report includes the requests up to the last counted row', async () => {
  const store = openMemoryStore(() => NOON);
  const [time, principal] = [
    NOON - 60_000,
    { caller: OPERATOR, actor: { kind: 'cli' as const, name: 'a', from: null } },
  ];
  await store.commit([store.records.log.add(record(idAt(time), time, { outcome }))]);
  const until = async (flush: () => Promise<void>) => {
    const sources = { store: { traffic: store.traffic, flush }, sight: FULL_SIGHT, nameOf: () => null, now: NOON };
    return (await trafficOf(principal, sources, {})).countedUntil;
  };
  expect(await until(() => store.flush())).toBe(NOON);
  expect(await until(() => Promise.reject(new StoreError('disk full')))).toBe(time);
});

test('a traffic report shows users and labels as they were at the time of the request; an empty label and a missing label share a line', async () => {
  const told = async (by: string, more = {}) => {
    const { total, lines, other } = await tell(OPERATOR, { by, ...more });
    return { total, lines: lines.map(([value, , requests]) => [value, requests]), other };
  };
  const users = [
    ['u1', 1],
    ['u2', 2],
    ['u3', 4],
    ['u4', 8],
  ];
  expect(await told('user')).toEqual({ total: 15, lines: users, other: null });
  expect(await told('user', { user: 'u3' })).toEqual({ total: 4, lines: [['u3', 4]], other: null });
  const values = [
    ['', 12],
    ['a', 1],
    ['b=c', 2],
  ];
  expect(await told('label:env')).toEqual({ total: 15, lines: values, other: null });
  expect(await told('label:env', { points: 'false' })).toEqual({ total: 15, lines: values, other: null });
  expect(await told('label:env', { limit: 2 })).toEqual({ total: 15, lines: values.slice(1), other: 12 });
  expect(await told('label:env=a')).toMatchObject({
    lines: [
      ['', 7],
      ['x', 8],
    ],
  });
  expect(await told('label:none')).toEqual({ total: 15, lines: [['', 15]], other: null });
  expect(await told('label:env', { label: 'env=b=c' })).toEqual({ total: 2, lines: [['b=c', 2]], other: null });
  expect(await tell(OPERATOR, { label: 'use=chat' })).toMatchObject({ total: 3 });
  for (const [caller, query] of [
    [OPERATOR, { by: 'label:env', label: 'use=chat' }],
    [OPERATOR, { by: 'label' }],
    [OPERATOR, { label: 'use' }],
    [report, { by: 'user' }],
    [report, { user: 'u1' }],
    [person('lead'), { by: 'user' }],
    [person('lead'), { by: 'label:env' }],
    [person('member'), { label: 'use=chat' }],
  ] as const) {
    expect(await tell(caller, query).catch(({ code }) => code)).toBe('invalid_value');
  }
});

test('totals contain only what the caller may see: a lead sees the keys of its team, a member its own', async () => {
  const mine = ['own', 'mine', 1] as const;
  const mate = ['mate', 'shared', 2] as const;
  expect(await tell(person('lead'), { by: 'key' })).toEqual({ total: 3, lines: [mate, mine], other: null });
  expect(await tell(person('lead'), {})).toEqual({ total: 3, lines: [], other: null });
  expect(await tell(person('lead'), { by: 'model' })).toMatchObject({ total: 3, other: null });
  expect(await tell(person('lead'), { by: 'key', key: 'other' })).toEqual({ total: 0, lines: [], other: null });
  expect(await tell(person('lead'), { by: 'team' })).toEqual({ total: 7, lines: [['red', 'red', 7]], other: null });
  expect(await tell(person('member'), { by: 'key' })).toEqual({ total: 1, lines: [mine], other: null });
  for (const [role, query] of [
    ['lead', { by: 'provider' }],
    ['lead', { by: 'team', team: 'blue' }],
    ['lead', { model: 'm-other' }],
    ['member', { by: 'team' }],
    ['member', { by: 'status' }],
    ['member', { team: 'red' }],
  ] as const) {
    expect(await tell(person(role), query).catch(({ code }) => code)).toBe('invalid_value');
  }
});

test('a report key sees names instead of key IDs, and keys with the same name as one key', async () => {
  expect(await tell(report, { by: 'key' })).toEqual({
    total: 15,
    lines: [
      ['mine', 'mine', 1],
      ['moved', 'moved', 4],
      ['shared', 'shared', 10],
    ],
    other: null,
  });
  expect(await tell(report, { by: 'key', key: 'shared' })).toMatchObject({ total: 10, other: null });
});

const LAW = 'sums without points equal sums with points';
test(LAW, async () => {
  const store = openMemoryStore(() => NOON);
  const HOURS = 5 * 24;
  const made = Array.from({ length: 3 * HOURS }, (_, at) => {
    const time = NOON - Math.floor(at / 3) * 3_600_000 - (at % 7) * 60_000;
    const { id: keyId, of: team, user, labels } = KEYS[at % KEYS.length]!;
    return record(idAt(time) + at, time, {
      keyId,
      team,
      user,
      labels,
      outcome: { ...outcome, saved: at },
      choice: `m-${at % 5}`,
    });
  });
  await store.commit(made.map((one) => store.records.log.add(one)));
  const sources = {
    ...{ store, sight: FULL_SIGHT, now: NOON },
    nameOf: () => null,
  };
  const sumsOf = async (query: TrafficQuery) => {
    const principal = { caller: OPERATOR, actor: { kind: 'cli' as const, name: 'a', from: null } };
    const { total, series, other } = await trafficOf(principal, sources, query);
    const timeless = <Line extends typeof total>({ buckets: _, whole, ...line }: Line) => {
      const { ttftMs, durationMs, tokensPerSecond, ...sums } = whole;
      return { ...line, sums };
    };
    return { total: timeless(total), series: series.map(timeless), other: other && timeless(other) };
  };
  const questions = fc.record({
    hours: fc.nat(HOURS),
    length: fc.integer({ min: 1, max: 47 }),
    step: fc.constantFrom('minute', 'hour', 'day', 'month'),
    by: fc.constantFrom('key', 'team', 'model', 'user', 'label:env', undefined),
    limit: fc.integer({ min: 1, max: 5 }),
    timeZone: fc.constantFrom('UTC', 'Europe/Berlin'),
  });
  await fc.assert(
    fc.asyncProperty(questions, async ({ hours, length, by, ...rest }) => {
      const to = NOON - hours * 3_600_000;
      const ends = { from: new Date(to - length * 3_600_000).toISOString(), to: new Date(to).toISOString() };
      const query = { ...rest, ...ends, ...(by && { by }), compare: 'before' as const };
      expect(await sumsOf({ ...query, points: 'false' })).toEqual(await sumsOf(query));
    }),
    tries(LAW, 4, 200),
  );
});

test('months are the sums of their days in the calendar', async () => {
  const store = openMemoryStore(() => NOON);
  const times = [Date.UTC(2026, 9, 31, 22, 30), Date.UTC(2026, 9, 31, 23, 30), Date.UTC(2026, 10, 2)];
  const made = times.map((time, at) => record(idAt(time), time, { keyId: `key${at % 2}`, outcome }));
  await store.commit(made.map((one) => store.records.log.add(one)));
  const sources = {
    ...{ store, sight: FULL_SIGHT, now: NOON },
    nameOf: () => null,
  };
  const principal = { caller: OPERATOR, actor: { kind: 'cli' as const, name: 'a', from: null } };
  const told = async (more: TrafficQuery) => {
    const query = { step: 'month', by: 'key', from: '2026-09-30', ...more } as const;
    const { times, total, series } = await trafficOf(principal, sources, query);
    return [times.map(iso), total.buckets.requests, series.map(({ value, buckets }) => [value, buckets.requests])];
  };
  expect(await told({})).toEqual([
    ['2026-09-01T00:00:00.000Z', '2026-10-01T00:00:00.000Z', '2026-11-01T00:00:00.000Z'],
    [0, 2, 1],
    [
      ['key0', [0, 1, 1]],
      ['key1', [0, 1, 0]],
    ],
  ]);
  expect(await told({ timeZone: 'Europe/Berlin', from: '2026-10-01', limit: 1 })).toEqual([
    ['2026-09-30T22:00:00.000Z', '2026-10-31T23:00:00.000Z'],
    [1, 2],
    [['key0', [1, 1]]],
  ]);
});
