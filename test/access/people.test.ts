import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { openPeople, type People } from '../../src/access/people.ts';
import type { TeamDraft, UserDraft } from '../../src/access/people-body.ts';
import { PeopleError } from '../../src/access/people-terms.ts';
import { KeyTermsError } from '../../src/access/terms.ts';
import { INHERITED, NO_TERMS } from '../../src/core/people/people.ts';
import { SERVER } from '../../src/store/trail.ts';
import { effort } from '../deep/effort.ts';
import { openInMemory, type TestedStore } from '../store/implementations.ts';

const budget = (limit: number) => ({ limit, window: 'month', timeZone: 'UTC', onExhausted: 'cap' }) as const;
const limits = (requestsPerMinute: number) => ({ requestsPerMinute, tokensPerMinute: null, concurrentStreams: null });

const team = (name: string, more: Partial<TeamDraft> = {}): TeamDraft => ({
  ...{ name, ...NO_TERMS, memberDefaults: NO_TERMS },
  ...more,
});
const user = (more: Partial<UserDraft> = {}): UserDraft => ({
  ...{ name: 'a', email: null, issuer: null, sub: null, team: null, role: 'member', terms: INHERITED },
  ...more,
});

let clock = 0;
const open = (store: TestedStore) => openPeople({ store, now: () => ++clock });

test('a user has its own terms, or else the team’s defaults for members, or else those of the organization', async () => {
  await using store = await openInMemory();
  const people = await open(store);
  people.useOrganization({
    ...NO_TERMS,
    models: ['best', 'good'],
    memberDefaults: { models: ['good'], limits: limits(9), budgets: [budget(9)] },
  });
  const { id } = await people.createTeam(
    team('search', { budgets: [budget(500)], memberDefaults: { ...NO_TERMS, limits: limits(5) } }),
    SERVER,
  );
  const plain = await people.createUser(user({ team: id }), SERVER);
  const own = await people.createUser(
    user({ team: id, terms: { models: ['best'], limits: null, budgets: [] } }),
    SERVER,
  );
  expect(people.termsOf({ team: id, user: plain.id })).toEqual([
    {
      kind: 'user',
      id: plain.id,
      name: 'a',
      role: 'member',
      models: ['good'],
      limits: limits(5),
      budgets: [budget(9)],
    },
    { kind: 'team', id, name: 'search', models: null, limits: null, budgets: [budget(500)] },
    { kind: 'organization', id: '', name: '', models: ['best', 'good'], limits: null, budgets: [] },
  ]);
  expect(people.termsOf({ team: id, user: own.id })[0]).toMatchObject({
    models: ['best'],
    limits: limits(5),
    budgets: [],
  });
  expect(people.budgets().map(({ id: one }) => one)).toEqual([id, plain.id]);
  const { version } = people;
  await people.changeTeam(id, (before) => ({ ...before, memberDefaults: NO_TERMS }), SERVER);
  expect(people.version).toBeGreaterThan(version);
  expect(people.termsOf({ team: id, user: plain.id })[0]).toMatchObject({ limits: limits(9) });
});

test('users and teams created in the same millisecond are listed in the order of their creation', async () => {
  await using store = await openInMemory();
  const people = await openPeople({ store, now: () => 1_000 });
  const names = Array.from({ length: 20 }, (_, at) => `n${at}`);
  for (const name of names) {
    await people.createTeam(team(name), SERVER);
    await people.createUser(user({ name }), SERVER);
  }
  expect(people.teams().map(({ name }) => name)).toEqual(names);
  expect(people.users().map(({ name }) => name)).toEqual(names);
});

test('a person who signs in stays the same user, is stored only after a change, and keeps attributes that the sign-in does not state', async () => {
  await using store = await openInMemory();
  const people = await open(store);
  const ada = { issuer: 'https://id.example', sub: '7', name: 'Ada', email: 'ada@example.com' };
  const first = await people.putUser(ada);
  expect(first).toMatchObject({ role: 'member', team: null });
  await people.changeUser(first.id, (before) => ({ ...before, role: 'finance' }), SERVER);
  const { version } = people;
  expect(await people.putUser(ada)).toMatchObject({ id: first.id, role: 'finance' });
  expect(people.version).toBe(version);
  const { id } = await people.createTeam(team('search'), SERVER);
  expect(await people.putUser({ ...ada, name: 'Ada L.', team: id, role: 'lead' })).toMatchObject({
    ...{ id: first.id, name: 'Ada L.', team: id, role: 'lead' },
  });
  expect(people.userOf('https://id.example', '7')?.id).toBe(first.id);
  await people.removeUser(first.id, SERVER);
  expect(people.isOut(first.id)).toBe(true);
  expect((await people.putUser(ada)).id).not.toBe(first.id);
});

test('two servers that sign the same person in at the same time create a single user', async () => {
  await using store = await openInMemory();
  const [one, other] = [await open(store), await open(store)];
  const ada = { issuer: 'i', sub: '7', name: 'Ada', email: null };
  const made = await Promise.all([one.putUser(ada), other.putUser(ada), one.putUser(ada)]);
  expect(new Set(made.map(({ id }) => id)).size).toBe(1);
});

/** A step of the law. Refusals are allowed results. After each step the state must be consistent. */
type Step = (people: People) => Promise<unknown>;

const NAMES = ['a', 'b', 'c'];
const name = fc.constantFrom(...NAMES);
const at = fc.nat(4);
const teamAt = (people: People, place: number) => people.teams()[place]?.id ?? 'team_none';
const userAt = (people: People, place: number) => people.users()[place]?.id ?? 'user_none';

const steps: fc.Arbitrary<Step> = fc.oneof(
  name.map(
    (one): Step =>
      (people) =>
        people.createTeam(team(one), SERVER),
  ),
  fc.subarray(NAMES).map(
    (names): Step =>
      (people) =>
        people.declare(names.map((one) => ({ ...NO_TERMS, name: one, memberDefaults: NO_TERMS }))),
  ),
  fc.tuple(at, name).map(([place, one]): Step => {
    return (people) =>
      people.changeTeam(teamAt(people, place), (before) => ({ ...before, name: one, origin: undefined }), SERVER);
  }),
  fc.tuple(at, fc.constantFrom<'api' | 'policy'>('api', 'policy')).map(([place, origin]): Step => {
    return (people) => people.changeTeam(teamAt(people, place), (before) => ({ ...before, origin }), SERVER);
  }),
  at.map(
    (place): Step =>
      (people) =>
        people.removeTeam(teamAt(people, place), SERVER),
  ),
  fc.tuple(name, fc.option(at)).map(([sub, place]): Step => {
    return (people) =>
      people.putUser({ issuer: 'i', sub, name: sub, email: null, team: place === null ? null : teamAt(people, place) });
  }),
  fc.tuple(at, at).map(([place, to]): Step => {
    return (people) =>
      people.changeUser(userAt(people, place), (before) => ({ ...before, team: teamAt(people, to) }), SERVER);
  }),
  at.map(
    (place): Step =>
      (people) =>
        people.removeUser(userAt(people, place), SERVER),
  ),
);

const refused = (cause: unknown) => {
  if (!(cause instanceof PeopleError || cause instanceof KeyTermsError)) throw cause;
};

/** Checks what must always hold. */
function checkPeople(people: People): void {
  const teams = people.teams();
  const names = teams.map((one) => one.name);
  expect(new Set(names).size).toBe(names.length);
  const persons = people.users().map(({ issuer, sub }) => `${issuer} ${sub}`);
  expect(new Set(persons).size).toBe(persons.length);
  const ids = new Set(teams.map(({ id }) => id));
  for (const one of people.users()) expect(one.team === null || ids.has(one.team)).toBe(true);
}

const LAW =
  'after any changes by two servers, names, persons and teams are unique and consistent, and a new server reads the same state';

const { runs, seed, proved } = effort('people', 60, 3_000);

const lawOf = (openStore: () => Promise<TestedStore>) =>
  fc.asyncProperty(fc.array(fc.tuple(steps, fc.boolean()), { maxLength: 14 }), async (taken) => {
    await using store = await openStore();
    const all = [await open(store), await open(store)] as const;
    for (const [take, isOther] of taken) {
      const people = all[isOther ? 1 : 0];
      await take(people).catch(refused);
      checkPeople(people);
    }
    const fresh = await open(store);
    for (const people of all) {
      await people.refresh();
      expect([people.teams(), people.users()]).toEqual([fresh.teams(), fresh.users()]);
    }
    // Each change is in the trail, and the trail leads to the current state.
    const trail = await store.trail.list({ keyId: null, limit: 1_000 });
    const last = new Map(trail.toReversed().map(({ subject, action }) => [subject.id, action]));
    for (const { id } of [...fresh.teams(), ...fresh.users()]) expect(last.get(id)).not.toBe('remove');
  });

test(LAW, async () => {
  await fc.assert(
    lawOf(() => openInMemory()),
    { numRuns: runs, seed },
  );
  proved(LAW);
});

/** Stores that do not check a condition, or that do not report changes to other servers. */
const MUTANTS: Readonly<Record<string, (store: TestedStore) => Partial<TestedStore['people']>>> = {
  'a server does not learn that a team was removed': ({ people }) => ({
    changedAfter: async (number) => {
      const found = await people.changedAfter(number);
      return { ...found, teams: found.teams.filter(({ row }) => row.removedAt === null) };
    },
  }),
  'a server misses the last change': ({ people }) => ({
    changedAfter: async (number) => {
      const found = await people.changedAfter(number);
      return { ...found, users: found.users.slice(0, -1) };
    },
  }),
};

for (const [what, flaw] of Object.entries(MUTANTS)) {
  test(`the law of people detects the mistake that ${what}`, async () => {
    const openFlawed = async () => {
      const store = await openInMemory();
      return Object.assign(store, { people: { ...store.people, ...flaw(store) } });
    };
    const { failed } = await fc.check(lawOf(openFlawed), { numRuns: 400, seed: 46, endOnFailure: true });
    expect(failed).toBe(true);
  });
}
