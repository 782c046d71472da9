import { describe, expect, test } from 'bun:test';
import { addressOf } from '../../../../src/store/postgres/address.ts';
import { Connection } from '../../../../src/store/postgres/connection.ts';
import { TURN } from '../../../../src/store/postgres/transaction.ts';
import type { StoreError } from '../../../../src/store/store.ts';
import { refusalOf } from '../../../store/implementations.ts';
import { openHandle, withRepositories } from '../../../store/postgres/opened.ts';
import { keyEvent, keyInfo, subjectEvent } from '../../../store/suites/access.ts';
import { aTeam, aUser } from '../../../store/suites/people.ts';
import { quietFor, waitFor } from '../../../support/answers.ts';
import { layCable } from '../../../support/cable.ts';
import { startPostgres } from '../../../support/postgres.ts';
import { laidDatabase, layTables } from '../../../support/shared-postgres.ts';

/** A handle that uses a cable, with its reports of lost writes. */
async function cabled(options: { doubtMs?: number } = {}) {
  const database = await laidDatabase();
  const cable = await layCable(database.server.port);
  const url = database.url.replace(`:${database.server.port}/`, `:${cable.port}/`);
  const errors: StoreError[] = [];
  const store = await openHandle(url, { ...options, onError: (error) => void errors.push(error) });
  const tables = withRepositories(store);
  const pending = (key: string) => tables.pendingSettlements.put(key, 'v', 1);
  const stored = async () =>
    (await database.run('SELECT key FROM pending_settlements ORDER BY key')).map(({ key }) => key);
  return {
    ...{ cable, store, tables, errors, pending, stored, url: database.url },
    async [Symbol.asyncDispose]() {
      cable.cuts = () => false;
      await store.close().catch(() => {});
      cable[Symbol.dispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

/** Whether the bytes contain the COMMIT statement itself; the isolation level `READ COMMITTED` contains the word as well. */
const isCommit = (sent: string): boolean => sent.includes('COMMIT\0');

/** Cuts only the first COMMIT. */
const once = (where: 'behind' | 'before') => {
  let isDone = false;
  return (sent: string) => {
    if (isDone || !isCommit(sent)) return false;
    isDone = true;
    return where;
  };
};

describe('Writes to PostgreSQL', () => {
  test.each(['behind', 'before'] as const)(
    'if a COMMIT is cut (%s it), the writer finds out its outcome, and the commit happens once',
    async (where) => {
      await using box = await cabled();
      const { store, pending } = box;
      await store.commit([pending('first')]);
      box.cable.cuts = once(where);
      store.append([pending('a')]);
      const both = [store.commit([pending('b')]), store.commit([box.tables.news.raise('keys')])];
      await Promise.all(both);
      expect(await store.written()).toBe(true);
      expect(await box.stored()).toEqual(['a', 'b', 'first']);
      const [news] = await store.query<{ keys: number }>({ sql: 'SELECT keys FROM news' });
      expect(news?.keys).toBe(1);
    },
  );

  test('if a COMMIT is cut and the database stays away, its callers get an unknown outcome, and an append in it happens once', async () => {
    await using box = await cabled({ doubtMs: 150 });
    const { store, pending } = box;
    await store.commit([pending('first')]);
    let isAway = false;
    box.cable.cuts = (sent) => {
      if (!isAway && !isCommit(sent)) return false;
      const where = isAway ? 'before' : 'behind';
      isAway = true;
      return where;
    };
    store.append([pending('a'), box.tables.news.raise('keys')]);
    expect(await refusalOf(store.commit([pending('b')]))).toBe('unknown');
    // For later commits it is certain that they did not happen.
    expect(await refusalOf(store.commit([pending('c')]))).toBe('broken');
    box.cable.cuts = () => false;
    await waitFor(() => store.written());
    expect(await box.stored()).toEqual(['a', 'b', 'first']);
    expect(await store.query<{ keys: number }>({ sql: 'SELECT keys FROM news' })).toEqual([{ keys: 1 }]);
  });

  test('while the database is away, commits are refused at once, and appends are written in order once it is back', async () => {
    await using box = await cabled();
    const { store, pending, tables } = box;
    await store.commit([pending('first')]);
    box.cable.cuts = () => 'before';
    store.append([pending('a')]);
    store.append([tables.pendingSettlements.delete('a')]);
    store.append([pending('b')]);
    expect(await refusalOf(store.commit([pending('c')]))).toBe('broken');
    expect([await store.written(), store.activity.waiting, store.activity.isFailing]).toEqual([false, 3, true]);
    expect(box.errors.map(({ reason }) => reason)).toEqual(['broken']);
    box.cable.cuts = () => false;
    await waitFor(() => store.written());
    expect([store.activity.waiting, store.activity.isFailing, await box.stored()]).toEqual([0, false, ['b', 'first']]);
  });

  test('while the connection is silent, commits are refused once this is known, and work again without a restart', async () => {
    await using box = await cabled();
    const { store, pending } = box;
    await store.commit([pending('first')]);
    box.cable.cuts = () => 'before';
    expect(await refusalOf(store.commit([pending('a')]))).toBe('broken');
    // A new connection would now wait until its timeout.
    box.cable.cuts = () => false;
    box.cable.isSilent = true;
    await quietFor(200, 'a success without an answer', () => !store.activity.isFailing);
    let isRefused = false;
    void store.commit([pending('b')]).catch(() => {
      isRefused = true;
    });
    await Promise.resolve().then(() => {});
    expect(isRefused).toBe(true);
    box.cable.isSilent = false;
    box.cable.cutAll();
    await waitFor(() => !store.activity.isFailing);
    await store.commit([pending('c')]);
    expect(await box.stored()).toEqual(['c', 'first']);
  });

  test('a commit that violates a rule or a condition is refused alone; other commits of its transaction are written', async () => {
    await using box = await cabled();
    const { store, pending, tables } = box;
    await store.commit([tables.keys.insert(keyInfo('one'), new Uint8Array(32))]);
    const ends = await Promise.all(
      [
        [pending('a')],
        [pending('x'), tables.keys.insert(keyInfo('one'), new Uint8Array(32))],
        [pending('b')],
        [pending('y'), tables.people.requireMembership({ team: 'none', user: null })],
        // The first error in order is reported, although the second commit is refused, too.
        [
          tables.people.requireMembership({ team: 'none', user: null }),
          tables.keys.insert(keyInfo('one'), new Uint8Array(32)),
        ],
        [pending('c')],
      ].map((writes) => refusalOf(store.commit(writes))),
    );
    expect(ends).toEqual([null, 'refused', null, 'unmet', 'unmet', null]);
    expect(await box.stored()).toEqual(['a', 'b', 'c']);
  });

  test('commits that deadlock with those of another instance are repeated', async () => {
    await using database = await laidDatabase();
    await database.server.run(`ALTER DATABASE ${database.name} SET deadlock_timeout = '5ms'`);
    const handles = await Promise.all([openHandle(database.url), openHandle(database.url)]);
    const [one, other] = handles.map((handle) => withRepositories(handle));
    const change = (tables: typeof one, ...subjects: readonly string[]) =>
      subjects.map((subject) => tables!.pendingSettlements.put(subject, 'v', 1));
    for (let round = 0; round < 50; round++) {
      await Promise.all([one!.commit(change(one, 'a', 'b')), other!.commit(change(other, 'b', 'a'))]);
    }
    for (const handle of handles) await handle.close();
  });

  test('commits whose conditions read other rows run one after the other: no team is removed while a user joins it', async () => {
    await using database = await laidDatabase();
    const handles = await Promise.all([openHandle(database.url), openHandle(database.url)]);
    const [one, other] = handles.map((handle) => withRepositories(handle).people);
    for (let round = 0; round < 30; round++) {
      const [team, user] = [`team ${round}`, `user ${round}`];
      await handles[0]!.commit([one!.putTeam(aTeam(team), null)]);
      const { teams } = await one!.changedAfter(-1);
      const { version } = teams.find(({ row }) => row.id === `team_${team}`)!;
      const ends = await Promise.all([
        refusalOf(handles[0]!.commit([one!.putTeam(aTeam(team, { removedAt: 5 }), version)])),
        refusalOf(handles[1]!.commit([other!.putUser(aUser(user, { team: `team_${team}` }), null)])),
      ]);
      expect(ends.toSorted()).toEqual([null, 'unmet'].toSorted());
    }
    for (const handle of handles) await handle.close();
  });

  test('commits are repeated if their connection was lost before the COMMIT, while it was idle or the process was stopped', async () => {
    await using box = await cabled();
    const { store, pending, tables } = box;
    await store.commit([pending('a')]);
    box.cable.cutAll();
    await store.commit([pending('b')]);
    // Another process takes its turn and is then stopped.
    const stopped = await Connection.open(addressOf(box.url));
    await stopped.script(`BEGIN; ${TURN}`);
    const began = performance.now();
    await store.commit([pending('c'), tables.trail.add(subjectEvent(keyEvent('one')))]);
    expect(performance.now() - began).toBeGreaterThan(500);
    expect(await box.stored()).toEqual(['a', 'b', 'c']);
    await stopped.close();
  });

  test('commits of many callers share transactions', async () => {
    await using box = await cabled();
    const { store, pending } = box;
    const keys = Array.from({ length: 200 }, (_, at) => `key ${String(at).padStart(3, '0')}`);
    await Promise.all(keys.map((key) => store.commit([pending(key)])));
    expect(await box.stored()).toEqual(keys);
    const commits = box.store.activity.commits.counts.reduce((sum, count) => sum + count, 0);
    expect(commits).toBeLessThan(20);
  });
});

test('a commit that was answered, and an append with a true `written`, survive a crash of the server', async () => {
  await using server = await startPostgres();
  await server.create('crashing');
  const url = server.urlOf('crashing');
  await layTables(url);
  const store = await openHandle(url);
  const { pendingSettlements } = withRepositories(store);
  const put = (key: string) => [pendingSettlements.put(key, 'v', 1)];
  await store.commit(put('a'));
  store.append(put('b'));
  expect(await store.written()).toBe(true);
  await server.kill();
  expect(await refusalOf(store.commit(put('c')))).toBe('broken');
  store.append(put('d'));
  await server.start();
  await waitFor(() => store.written());
  const rows = await store.query<{ key: string }>({ sql: 'SELECT key FROM pending_settlements ORDER BY key' });
  expect(rows.map(({ key }) => key)).toEqual(['a', 'b', 'd']);
  await store.close();
});
