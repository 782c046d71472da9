import { describe, expect, test } from 'bun:test';
import { processTimers } from '../../../../src/host/telemetry/process-timers.ts';
import { type Instance, nameOf } from '../../../../src/store/instance.ts';
import { LEADER_JOBS } from '../../../../src/store/leaders.ts';
import { keepLease } from '../../../../src/store/lease-keeper.ts';
import { postgresLeaders } from '../../../../src/store/postgres/leaders.ts';
import { fenceOf, postgresLeases } from '../../../../src/store/postgres/leases.ts';
import { NEWS_CHANNEL, postgresNews } from '../../../../src/store/postgres/news.ts';
import { refusalOf } from '../../../store/implementations.ts';
import { openHandle, withRepositories } from '../../../store/postgres/opened.ts';
import { waitFor } from '../../../support/answers.ts';
import { laidDatabase } from '../../../support/shared-postgres.ts';

const clock = () => performance.now();

/** A database with a handle for each of this many processes. */
async function processes(count: number) {
  const database = await laidDatabase();
  const handles = await Promise.all(Array.from({ length: count }, () => openHandle(database.url)));
  const kept: Instance[] = [];
  const lease = async (at: number) => {
    const table = postgresLeases(handles[at]!);
    const instance = await keepLease({ table, clock, now: Date.now, timers: processTimers });
    kept.push(instance);
    return instance;
  };
  const { run } = database;
  return {
    ...{ handles, lease, run },
    async [Symbol.asyncDispose]() {
      // A lease that is kept renews itself as long as the process runs, even during later tests.
      for (const instance of kept) await instance.release();
      for (const handle of handles) await handle.close().catch(() => {});
      await database[Symbol.asyncDispose]();
    },
  };
}

describe('Instances of a PostgreSQL', () => {
  test('instances that start at once have different slots and never share an ID', async () => {
    await using box = await processes(4);
    const instances = await Promise.all([0, 1, 2, 3].map(box.lease));
    expect(instances.map(({ slot }) => slot).sort()).toEqual([0, 1, 2, 3]);
    const ids = instances.flatMap(({ nextId }) => Array.from({ length: 50 }, nextId));
    expect(new Set(ids).size).toBe(200);
    for (const instance of instances) expect(await instances[0]!.lives(nameOf(instance))).toBe(true);
    const { instanceReports } = withRepositories(box.handles[0]!);
    const present = async () => (await instanceReports.present()).map(nameOf);
    expect(await present()).toEqual([0, 1, 2, 3].map((slot) => ({ slot, epoch: 1 })));
    const [first] = instances;
    const last = first!.nextId();
    await first!.release();
    expect(await instances[1]!.lives(nameOf(first!))).toBe(false);
    expect(await present()).not.toContainEqual(nameOf(first!));
    const next = await box.lease(0);
    expect(nameOf(next)).toEqual({ slot: first!.slot, epoch: first!.epoch + 1 });
    expect(next.nextId()).toBeGreaterThan(last);
  });

  test('each commit checks the lease of its instance: after its end, only a new lease can write', async () => {
    await using box = await processes(2);
    const [store] = box.handles;
    const { pendingSettlements } = withRepositories(store!);
    const row = async () => (await box.run('SELECT key FROM pending_settlements ORDER BY key')).map(({ key }) => key);
    const put = (key: string) => [pendingSettlements.put(key, 'v', 1)];
    const instance = await box.lease(1);
    store!.fence = fenceOf(nameOf(instance));
    await store!.commit(put('a'));
    await box.run('UPDATE instances SET until = 0');
    expect(await refusalOf(store!.commit(put('b')))).toBe('fenced');
    store!.append(put('c'));
    expect(await store!.written()).toBe(false);
    expect(await row()).toEqual(['a']);
    const again = await box.lease(1);
    store!.fence = fenceOf(nameOf(again));
    await waitFor(() => store!.written());
    expect(await row()).toEqual(['a', 'c']);
    await again.release();
    expect(await refusalOf(store!.commit(put('d')))).toBe('fenced');
  });
});

describe('Leaders of a PostgreSQL', () => {
  test('each job has one instance, which keeps it while its lease lasts and loses it with its lease', async () => {
    await using box = await processes(3);
    const instances = await Promise.all([0, 1, 2].map(box.lease));
    const leaders = box.handles.map((handle, at) => {
      handle.fence = fenceOf(instances[at]!);
      return postgresLeaders(handle, () => nameOf(instances[at]!));
    });
    const taken = await Promise.all(leaders.map((one) => one.take()));
    expect(taken.flat().sort()).toEqual([...LEADER_JOBS].sort());
    const leader = taken.findIndex((jobs) => jobs.includes('sweep'));
    const other = (leader + 1) % 3;
    const stated = (at: number) => refusalOf(box.handles[at]!.commit([leaders[at]!.require('sweep')]));
    expect([await stated(leader), await stated(other)]).toEqual([null, 'unmet']);
    expect(await leaders[other]!.take()).not.toContain('sweep');
    await instances[leader]!.release();
    expect(await leaders[other]!.take()).toContain('sweep');
    expect(await stated(other)).toBe(null);
    await box.run('UPDATE leaders SET until = 0');
    expect(await stated(other)).toBe('unmet');
    const third = 3 - leader - other;
    expect(await leaders[third]!.take()).toEqual([...LEADER_JOBS].sort());
  });
});

test('an instance on PostgreSQL whose lease has ended is not a leader', async () => {
  await using box = await processes(1);
  const [handle] = box.handles;
  const instance = await box.lease(0);
  const leaders = postgresLeaders(handle!, () => nameOf(instance));
  expect(await leaders.take()).toEqual([...LEADER_JOBS].sort());
  await box.run('UPDATE instances SET until = 0');
  expect(await leaders.take()).toEqual([]);
});

describe('News of a PostgreSQL', () => {
  test('news arrives by notification without a poll, and again after a lost connection', async () => {
    await using box = await processes(2);
    const [one, other] = box.handles;
    const news = postgresNews(one!, { open: one!.open, clock, timers: processTimers, onAway: () => {} });
    const heard: string[] = [];
    for (const subject of ['keys', 'policy'] as const) news.on(subject, () => void heard.push(subject));
    await news.look();
    expect(heard.splice(0)).toEqual(['keys', 'policy']);
    news.listen();
    const isListened = async () =>
      (await box.run(`SELECT 1 FROM pg_stat_activity WHERE query = 'LISTEN "${NEWS_CHANNEL}"'`)).length > 0;
    await waitFor(isListened);
    const { news: others, people } = withRepositories(other!);
    await other!.commit([others.raise('policy')]);
    await waitFor(() => heard.length > 0);
    expect(heard.splice(0)).toEqual(['policy']);
    await box.run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'LISTEN "${NEWS_CHANNEL}"'`);
    // No notification arrives for this change; the poll after the next LISTEN finds it.
    await other!.commit([others.raise('keys')]);
    await waitFor(() => heard.length > 0);
    expect(heard.splice(0)).toEqual(['keys']);
    expect(news.ageOf('policy')).toBeLessThan(10_000);
    const refused = [others.raise('policy'), people.requireMembership({ team: 'none', user: null })];
    expect(await refusalOf(other!.commit(refused))).toBe('unmet');
    await news.look();
    expect(heard).toEqual([]);
    await news.close();
  });
});
