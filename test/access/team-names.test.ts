import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { openPeople, type People } from '../../src/access/people.ts';
import { PeopleError } from '../../src/access/people-terms.ts';
import { FORMER_NAMES_MAX, NO_TERMS } from '../../src/core/people/people.ts';
import type { Team } from '../../src/store/people.ts';
import { SERVER } from '../../src/store/trail.ts';
import { effort } from '../deep/effort.ts';
import { openInMemory, overEach, type TestedStore } from '../store/implementations.ts';

/** Tests which team a name in a policy refers to. */
let clock = 0;
const open = (store: TestedStore) => openPeople({ store, now: () => ++clock });
const terms = (name: string) => ({ name, ...NO_TERMS, memberDefaults: NO_TERMS });
const create = (people: People, name: string) => people.createTeam(terms(name), SERVER);
const rename = (people: People, id: string, name: string) =>
  people.changeTeam(id, (before) => ({ ...before, name, origin: undefined }), SERVER);
const idOf = (people: People, name: string) => people.teamNames().get(name)?.id;

test('a name refers to the team that has it, or else to the team that had it last, even after a deletion', async () => {
  await using store = await openInMemory();
  const people = await open(store);
  const found = (name: string) => people.teamNames().get(name);
  const first = await create(people, 'search');
  await rename(people, first.id, 'find');
  await rename(people, first.id, 'seek');
  for (const name of ['search', 'find', 'seek']) expect(found(name)).toMatchObject({ id: first.id, name: 'seek' });
  const second = await create(people, 'find');
  expect([found('find')?.id, found('search')?.id]).toEqual([second.id, first.id]);
  await people.removeTeam(second.id, SERVER);
  expect(found('find')).toMatchObject({ id: second.id, isDeleted: true });
  await people.removeTeam(first.id, SERVER);
  expect(found('seek')).toMatchObject({ id: first.id, isDeleted: true });
  const again = await create(people, 'seek');
  expect(found('seek')).toMatchObject({ id: again.id, isDeleted: false });
  expect(found('other')).toBeUndefined();
});

test('a renamed team keeps a name that another team had earlier', async () => {
  await using store = await openInMemory();
  const people = await open(store);
  const [late, early] = [await create(people, 'a1'), await create(people, 'x')];
  await rename(people, early.id, 'z');
  await rename(people, late.id, 'x');
  await rename(people, late.id, 'w');
  expect(idOf(people, 'x')).toBe(late.id);
});

test('a rename that would make a team forget a name is refused, and the error lists the former names', async () => {
  await using store = await openInMemory();
  const people = await open(store);
  const deleted = await create(people, 'name 0');
  await people.removeTeam(deleted.id, SERVER);
  const { id } = await create(people, 'name 0');
  for (let at = 1; at <= FORMER_NAMES_MAX; at++) await rename(people, id, `name ${at}`);
  const refusal = await rename(people, id, 'one more').catch((cause: unknown) => cause);
  expect(refusal).toMatchObject({ reason: 'conflict', message: expect.stringContaining('"name 0"') });
  for (let at = 0; at <= FORMER_NAMES_MAX; at++) expect(idOf(people, `name ${at}`)).toBe(id);
  // A rename to a former name frees its place in the list, and so does a former name that another team takes over.
  await rename(people, id, 'name 3');
  await create(people, 'name 5');
  await rename(people, id, 'one more');
  expect([idOf(people, 'name 0'), idOf(people, 'name 3')]).toEqual([id, id]);
  // A deletion is never refused because of this limit, and forgets no name.
  await people.removeTeam(id, SERVER);
  expect([idOf(people, 'name 0'), idOf(people, 'one more')]).toEqual([id, id]);
});

test('a policy renames a team only once, whatever its origin, and the team keeps its ID', async () => {
  await using store = await openInMemory();
  const people = await open(store);
  const other = await open(store);
  await people.declare([terms('billing'), terms('ads')]);
  const [billing, ads] = [people.teamNamed('billing'), people.teamNamed('ads')];
  const api = await create(people, 'search');
  const policy = [
    { ...terms('finance'), formerly: 'billing' },
    { ...terms('find'), formerly: 'search' },
    { ...terms('new'), formerly: 'nothing' },
    terms('ads'),
  ];
  // Two servers load the same policy at the same time.
  await Promise.all([people.declare(policy), other.declare(policy)]);
  await people.refresh();
  const found = people.teams().map(({ id, name, origin }) => [id, name, origin]);
  expect(found).toEqual([
    [billing?.id, 'finance', 'policy'],
    [ads?.id, 'ads', 'policy'],
    [api.id, 'find', 'policy'],
    [expect.any(String), 'new', 'policy'],
  ]);
  expect([idOf(people, 'billing'), idOf(people, 'search')]).toEqual([billing?.id, api.id]);
  const trail = await store.trail.list({ keyId: null, limit: 100 });
  const renames = trail.filter(({ subject, action }) => subject.id === billing?.id && action === 'change');
  expect(renames.map(({ details }) => details)).toEqual([{ before: { name: 'billing' }, after: { name: 'finance' } }]);
  // A team that gets the former name later keeps it.
  const { id } = await create(people, 'billing');
  await people.declare(policy);
  expect([people.teamNamed('billing')?.id, people.teamNamed('finance')?.id]).toEqual([id, billing?.id]);
});

type Step = (people: People, bind: (name: string, id: string) => void) => Promise<void>;

const NAMES = ['a', 'b', 'c', 'd'];
const name = fc.constantFrom(...NAMES);
const at = fc.nat(3);
const teamAt = (people: People, place: number) => people.teams()[place]?.id ?? 'team_none';

const steps: fc.Arbitrary<Step> = fc.oneof(
  name.map(
    (one): Step =>
      async (people, bind) =>
        bind(one, (await create(people, one)).id),
  ),
  fc.tuple(at, name).map(([place, one]): Step => {
    return async (people, bind) => bind(one, (await rename(people, teamAt(people, place), one)).id);
  }),
  // Each name occurs once, as a policy requires. The policy keeps the names of some teams, renames other teams, and adds new teams.
  fc.tuple(fc.shuffledSubarray(NAMES), fc.nat(2), fc.nat(4)).map(([names, renames, end]): Step => {
    const [formerly, stated] = [names.slice(0, renames), names.slice(renames, renames + end)];
    return async (people, bind) => {
      await people.declare(
        stated.map((one, at) => ({ ...terms(one), ...(formerly[at] && { formerly: formerly[at] }) })),
      );
      for (const one of stated) bind(one, people.teamNamed(one)?.id ?? 'none');
    };
  }),
  at.map((place): Step => {
    return async (people) => void (await people.removeTeam(teamAt(people, place), SERVER));
  }),
);

const refused = (cause: unknown) => {
  if (!(cause instanceof PeopleError)) throw cause;
};

const LAW =
  'during any creations, renames, deletions and policies of two servers, a name stays with its team until another team takes it';

const { runs, seed, proved } = effort('team names', 150, 5_000);

const lawOf = (openStore: () => Promise<TestedStore>) =>
  fc.asyncProperty(fc.array(fc.tuple(steps, fc.boolean()), { maxLength: 16 }), async (taken) => {
    await using store = await openStore();
    const both = [await open(store), await open(store)] as const;
    const bound = new Map<string, string>();
    for (const [take, isOther] of taken) {
      await take(both[isOther ? 1 : 0], (one, id) => bound.set(one, id)).catch(refused);
      for (const people of both) {
        await people.refresh();
        for (const [one, id] of bound) expect(idOf(people, one)).toBe(id);
      }
    }
  });

test(LAW, async () => {
  await fc.assert(
    lawOf(() => openInMemory()),
    { numRuns: runs, seed },
  );
  proved(LAW);
});

test('the law of team names detects the mistake that a name stays with its former team when another team takes it', async () => {
  const openFlawed = async () => {
    const store = await openInMemory();
    const { people } = store;
    const before = new Map<string, readonly string[]>();
    const putTeam = (team: Team, version: number | null) => {
      const names = before.get(team.id) ?? [];
      const { formerNames = [] } = team;
      const kept = [...formerNames, ...names.filter((one) => one !== team.name && !formerNames.includes(one))];
      before.set(team.id, kept);
      return people.putTeam({ ...team, formerNames: kept }, version);
    };
    return Object.assign(store, { people: { ...people, putTeam } });
  };
  const { failed } = await fc.check(lawOf(openFlawed), { numRuns: 2_000, seed: 46, endOnFailure: true });
  expect(failed).toBe(true);
});

overEach((openStore) => {
  test('a deleted team may lose a former name if an existing team has the deleted team’s last name', async () => {
    await using store = await openStore();
    const people = await open(store);
    const old = await create(people, 'x');
    await rename(people, old.id, 'q');
    await people.removeTeam(old.id, SERVER);
    await create(people, 'q');
    const { id } = await create(people, 'x');
    await rename(people, id, 'w');
    expect(people.team(old.id)?.formerNames).toEqual(['q']);
    expect(idOf(people, 'x')).toBe(id);
  });
});
