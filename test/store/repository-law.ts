import fc from 'fast-check';
import type { PaymentState } from '../../src/store/payments.ts';
import type { Write } from '../../src/store/store.ts';
import { openInSqlite, refusalOf, type TestedStore } from './implementations.ts';
import { keyEvent, keyInfo } from './suites/access.ts';
import { mark } from './suites/alerts.ts';
import { cached, nameOf } from './suites/cache.ts';
import { answered, signalled } from './suites/conversations.ts';
import { broken } from './suites/endpoints.ts';
import { payment } from './suites/payments.ts';
import { aTeam, aUser } from './suites/people.ts';
import { subject } from './suites/subjects.ts';
import { thread } from './suites/threads.ts';

/** The repositories that the commits of the law use. */
export type LawTables = Pick<
  TestedStore,
  | 'keys'
  | 'people'
  | 'trail'
  | 'payments'
  | 'alerts'
  | 'brokenDeclarations'
  | 'subjects'
  | 'threads'
  | 'conversations'
  | 'cache'
>;
export type MakeWrite = (store: LawTables) => Write | readonly Write[];

const IDS = ['a', 'b', 'c'];
const id = fc.constantFrom(...IDS);
const number = fc.integer({ min: 1, max: 3 });
const time = fc.integer({ min: 1, max: 9 });
const wallet = fc.constantFrom(null, '0xw');
const hash = fc.integer({ min: 0, max: 3 }).map((byte) => new Uint8Array(32).fill(byte));
const limits = fc.record({ unrevoked: number, aDay: number });

export const writes: fc.Arbitrary<MakeWrite> = fc.oneof(
  fc
    .tuple(id, wallet, hash, time, fc.constantFrom(null, 5))
    .map(([key, own, bytes, createdAt, expiresAt]): MakeWrite => {
      return ({ keys }) => keys.insert(keyInfo(key, { holder: own, createdAt, expiresAt }), bytes);
    }),
  fc.tuple(id, fc.option(id), fc.option(time), fc.option(number)).map(([one, name, removedAt, version]): MakeWrite => {
    const named = name === null ? {} : { name };
    return ({ people }) => people.putTeam(aTeam(one, { ...named, removedAt }), version);
  }),
  fc.tuple(id, fc.option(id), fc.option(time), fc.option(number)).map(([one, team, removedAt, version]): MakeWrite => {
    const member = aUser(one, { team: team && `team_${team}`, sub: team ?? one, removedAt });
    return ({ people }) => people.putUser(member, version);
  }),
  fc.tuple(id, fc.option(id)).map(([key, team]): MakeWrite => {
    const membership = { team: team && `team_${team}`, user: team && `user_${key}` };
    return ({ keys, people }) => [
      people.requireMembership(membership),
      keys.insert(keyInfo(key, membership), new Uint8Array(32)),
    ];
  }),
  fc.tuple(id, hash, time).map(([key, bytes, at]): MakeWrite => {
    return ({ keys }) => keys.rotate(key, bytes, at, at + 1);
  }),
  fc.tuple(id, time).map(
    ([key, at]): MakeWrite =>
      ({ keys }) =>
        keys.revoke(key, at),
  ),
  fc.tuple(fc.option(id), time).map(
    ([except, at]): MakeWrite =>
      ({ keys }) =>
        keys.revokeOfHolder('0xw', except, at),
  ),
  fc.dictionary(id, time).map(
    (uses): MakeWrite =>
      ({ keys }) =>
        keys.putUses(uses),
  ),
  fc.tuple(id, time).map(
    ([key, at]): MakeWrite =>
      ({ trail }) =>
        trail.addIfValid(keyEvent(key, 'grant'), at),
  ),
  fc.tuple(id, limits, time).map(([key, most, at]): MakeWrite => {
    return ({ trail }) => trail.addIfRoom(keyEvent(key, 'create', at), '0xw', most);
  }),
  fc.tuple(id, fc.option(id), id, hash, limits, time).map(([key, user, maker, own, most, at]): MakeWrite => {
    return ({ keys, trail }) => [
      trail.addIfRoomOfUser(keyEvent(key, 'create', at), { owner: user ?? maker, maker, ...most }),
      keys.insert(keyInfo(key, { user, createdAt: at }), own, { maker }),
    ];
  }),
  fc.tuple(id, id, hash, hash, time).map(([key, parent, own, made, at]): MakeWrite => {
    return ({ keys, trail }) => [
      trail.addIfRoomBelow(keyEvent(key, 'create', at), {
        parent,
        hash: made,
        depth: 2,
        live: 1,
        aDay: 2,
        aDayOfUser: 2,
      }),
      keys.insert(keyInfo(key, { parent, createdAt: at, expiresAt: 9 }), own, { parentHash: made }),
    ];
  }),
  fc.option(id).map(
    (except): MakeWrite =>
      ({ trail }) =>
        trail.addOfHolder(keyEvent('', 'revoke'), '0xw', except),
  ),
  fc.tuple(number, number, time).map(([one, nonce, updated]): MakeWrite => {
    return ({ payments }) => payments.insert(payment(one, { nonce: `${nonce}`, updated }));
  }),
  fc
    .tuple(number, time, fc.constantFrom<'capture' | 'doubt' | 'fail'>('capture', 'doubt', 'fail'))
    .map(([one, updated, change]): MakeWrite => {
      return ({ payments }) => payments[change](payment(one, { updated, error: 'why', transaction: '0xt' }));
    }),
  fc.tuple(number, time).map(
    ([one, at]): MakeWrite =>
      ({ payments }) =>
        payments.settle(one, at, 0, at),
  ),
  number.map(
    (one): MakeWrite =>
      ({ payments }) =>
        payments.remove(one),
  ),
  fc.tuple(id, id, number).map(
    ([provider, model, excess]): MakeWrite =>
      ({ brokenDeclarations }) =>
        brokenDeclarations.put(broken({ provider, model, excess })),
  ),
  fc.tuple(id, fc.option(number), number).map(([one, seen, since]): MakeWrite => {
    const change = { seen: seen === null ? null : mark(one, { since: seen }), mark: mark(one, { since }) };
    return ({ alerts }) => alerts.mark(change);
  }),
  time.map(
    (until): MakeWrite =>
      ({ alerts }) =>
        alerts.prune(until, 2),
  ),
  fc.tuple(id, id).map(
    ([provider, model]): MakeWrite =>
      ({ brokenDeclarations }) =>
        brokenDeclarations.delete({ ...broken(), provider, model }),
  ),
  fc.tuple(id, id, time).map(
    ([one, name, at]): MakeWrite =>
      ({ subjects }) =>
        subjects.see(subject(one, { name }), at),
  ),
  fc.tuple(id, id, time).map(
    ([key, answer, at]): MakeWrite =>
      ({ threads }) =>
        threads.put(thread(key, answer, { time: at }), 2),
  ),
  fc.tuple(id, id, time, fc.constantFrom('see', 'signal', 'escalate')).map(([keyId, name, seen, change]): MakeWrite => {
    const row = { keyId, conversation: `${keyId} ${name}`, seen };
    return ({ conversations }) => {
      if (change === 'see') return conversations.see(answered(name, row));
      return change === 'signal' ? conversations.signal(signalled(name, row)) : conversations.escalate(row, 0.5);
    };
  }),
  fc.tuple(number, id, fc.option(id), time).map(([one, keyId, user, stored]): MakeWrite => {
    const row = cached(one, { keyId, userId: user && `user_${user}`, stored, expires: stored + 3, used: stored });
    return ({ cache }) => cache.keep(row);
  }),
  fc.tuple(id, hash, time).map(([parent, own, stored]): MakeWrite => {
    const row = cached(1, { keyId: 'child', stored, expires: 9, used: stored });
    return ({ keys, cache }) => [keys.insert(keyInfo('child', { parent, createdAt: stored }), own), cache.keep(row)];
  }),
  fc.tuple(number, time).map(
    ([one, at]): MakeWrite =>
      ({ cache }) =>
        cache.use(nameOf(one), at),
  ),
);

const STATES: readonly (PaymentState | null)[] = [null, 'settling', 'captured', 'settled', 'unknown', 'failed'];

const PLACES = IDS.flatMap((key) => IDS.map((answer) => [key, answer] as const));

/** The entries of the cache that have not expired at a time. Each database has its own class for bytes. */
async function cachedAt(cache: LawTables['cache'], now: number) {
  const rows = await cache.find([1, 2, 3].map(nameOf), now, Number.MAX_SAFE_INTEGER);
  return rows
    .map(({ name, answer, ...row }) => ({ name: Buffer.from(name).toString('hex'), size: answer?.length, ...row }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Reads everything that can be read. */
export const contentOf = async ({
  keys,
  people,
  trail,
  payments,
  alerts,
  brokenDeclarations,
  subjects,
  threads,
  conversations,
  cache,
}: LawTables) => ({
  keys: await keys.all(),
  people: await people.changedAfter(-1),
  trail: (await trail.list({ keyId: null, limit: 99 })).map(({ id: _, ...entry }) => entry),
  marks: await alerts.marks(),
  broken: await brokenDeclarations.all(),
  subjects: await subjects.list(9, null),
  threads: await Promise.all(PLACES.map(([key, answer]) => threads.find(key, answer))),
  conversations: (await conversations.since(0, 99)).toSorted((a, b) => (a.conversation < b.conversation ? -1 : 1)),
  cached: await Promise.all([0, 3, 6, 9].map((now) => cachedAt(cache, now))),
  cacheSizes: await cache.sizes(),
  unresolved: await payments.unresolved(),
  lists: await Promise.all(STATES.map((state) => payments.list({ state, payer: null, limit: 2, before: 3 }))),
});

type Commits = readonly (readonly MakeWrite[])[];

/** Whether the two stores give the same answers to the same commits and have the same content after each. */
async function agree(commits: Commits, open: () => Promise<TestedStore>): Promise<boolean> {
  await using one = await openInSqlite();
  await using other = await open();
  for (const made of commits) {
    const [refusal, others] = [one, other].map((store) => refusalOf(store.commit(made.flatMap((make) => make(store)))));
    if ((await refusal) !== (await others)) return false;
    if (!Bun.deepEquals(await contentOf(one), await contentOf(other))) return false;
  }
  return true;
}

const commits = fc.array(fc.array(writes, { minLength: 1, maxLength: 4 }), { maxLength: 12 });
/** The law: after any commits of access and payments, a store gives the same answers and has the same content as SQLite. */
export const lawOf = (open: () => Promise<TestedStore>) => fc.asyncProperty(commits, (made) => agree(made, open));
