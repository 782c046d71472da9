import { commandName } from '../../core/command-name.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import { processTimers } from '../../host/telemetry/process-timers.ts';
import type {
  OpenOptions,
  OpenStore,
  SpoolSettlements,
  StoreDriver,
  StoreExamination,
  StoreLock,
  StoreReader,
  TablesState,
  UnbookedSettlements,
} from '../driver.ts';
import { type Instance, NO_INSTANCE } from '../instance.ts';
import { keepLease } from '../lease-keeper.ts';
import { countSettlements, readSpool, Spool } from '../spool/spool.ts';
import { SETTLE } from '../sql/payments.ts';
import { type SqlReader, sql } from '../sql/statement.ts';
import { StoreError } from '../store.ts';
import { addressOf, placeOf } from './address.ts';
import { openPostgresBooks, type PostgresBooks } from './books/books.ts';
import { decodeCall, settledBy } from './books/kept-ops.ts';
import { Connection } from './connection.ts';
import { unusableFor } from './fault.ts';
import { postgresLeaders } from './leaders.ts';
import { fenceOf, isAnyHeld, postgresLeases } from './leases.ts';
import { latestOf, MIGRATION_BOUNDS, migrate, refuseUnreleased, schemaOf } from './migrate.ts';
import { postgresNews } from './news.ts';
import { PostgresRates } from './rates.ts';
import { postgresRepositories } from './repositories.ts';
import { requireSafety, requireSession, safetyFaults } from './safety.ts';
import { SCHEMA } from './schema/versions.ts';
import { PostgresSnapshot } from './snapshot.ts';
import { handleOf, openPostgres, PostgresStore } from './store.ts';
import { acceptTimeline } from './timeline.ts';

/** Opens a store in a PostgreSQL database that several servers share: `postgres://USER@HOST:PORT/DATABASE`. */
export const postgresDriver: StoreDriver = {
  open,
  read,
  exists: async (url) => (await once(url, schemaOf)).version > 0,
  tables,
  examine,
  migrate: async (url, program) => (await bringUpToDate(url, program)).length,
  accept,
  copy: () =>
    Promise.reject(
      new StoreError(
        `Back up PostgreSQL with its own tools, such as pg_basebackup and pg_dump. To write the database to an SQLite file, stop all servers and run \`${commandName()} db copy postgres://… FILE\`.`,
        { reason: 'denied' },
      ),
    ),
  lock,
  isLocked,
  placeOf,
  readSpool: (path) => ({ path, ...readSpool(path) }),
  settlementsIn: (path) => countSettlements(path, (units) => settledBy(units).size),
};

/** The statements of repositories that a spool may contain. */
const SPOOLED = [SETTLE];

/** Opens a connection, runs `work` and closes the connection. */
async function once<T>(url: string, work: (connection: Connection) => Promise<T>, bounds?: typeof MIGRATION_BOUNDS) {
  const open = () => Connection.open(addressOf(url), bounds);
  const connection = await open();
  try {
    await requireSession(connection, open);
    return await work(connection);
  } catch (cause) {
    throw unusableFor(placeOf(url), cause);
  } finally {
    await connection.close();
  }
}

function isLocked(url: string): Promise<boolean> {
  return once(url, async (connection) => (await schemaOf(connection)).version > 0 && isAnyHeld(connection));
}

/** Servers share the database, so no lock is taken: each server has a lease. With `alone`, the function only checks that no server runs. */
async function lock(url: string, how?: 'alone'): Promise<StoreLock> {
  if (how === 'alone' && (await isLocked(url)))
    throw new StoreError(`A server is using ${placeOf(url)}. Stop it first.`, { reason: 'busy' });
  return { release: () => {} };
}

async function open(url: string, options: OpenOptions): Promise<OpenStore> {
  const { mode, onError, timers = processTimers, now = Date.now, clock = () => performance.now() } = options;
  if (mode === 'serve') await bringUpToDate(url, options.program ?? '');
  const asked = { url, timers, ...(onError && { onError }) };
  // A server has already checked the database in `bringUpToDate`.
  const db = mode === 'serve' ? handleOf(asked) : await openPostgres(asked);
  // An empty commit makes the writer retry until the database is back. Without the empty commit, a server without traffic would report
  // itself ready.
  const onAway = () => void db.commit([]).catch(() => {});
  const news = postgresNews(db, { open: db.open, clock, timers, onAway });
  const repositories = postgresRepositories(db, timers);
  // Lease renewals use a store of their own, so that they never wait for the commits that depend on the lease.
  const leases = new PostgresStore(db.open, { url, timers });
  const beside = { query: db.query.bind(db), commit: leases.commit.bind(leases) };
  const table = postgresLeases(beside);
  let instance: Instance = NO_INSTANCE;
  if (mode === 'serve') {
    const { onFull, onRefused } = options;
    instance = await keepLease({ table, clock, now, timers, onFull, onRefused });
    db.fence = fenceOf(instance);
    news.listen();
  }
  const rates = mode === 'serve' ? new PostgresRates(db.open, () => instance, instance.now) : null;
  const ends: (() => unknown)[] = [() => rates?.close()];
  const shut = db.close.bind(db);
  return Object.assign(db, repositories, {
    news,
    instance,
    rates,
    leaders: mode === 'serve' ? postgresLeaders(beside, () => instance) : null,
    async openBooks() {
      const deciding = db.deciding(table.check);
      const books = await openPostgresBooks({ db: deciding, timers, clock, instance, onError });
      db.books = books;
      ends.push(
        () => books.close(),
        () => deciding.close(),
      );
      if (options.spool !== undefined) ends.push(await takeSpool(options.spool, books, options));
      return books;
    },
    async close() {
      for (const end of ends) await end();
      await news.close();
      try {
        await db.flush();
      } finally {
        // The lease is released after the last commit, which checks the lease, and before the connections close.
        await instance.release();
        await leases.close();
        await shut();
      }
    },
  });
}

/**
 * Books the operations that an earlier run left in its spool, and gives the books a new spool.
 * @returns a function that closes the spool
 */
async function takeSpool(path: string, books: PostgresBooks, { spoolNotes, onSpool }: OpenOptions) {
  const { generation, units, isTorn } = readSpool(path);
  try {
    await books.replay(units.map((unit) => decodeCall(unit, SPOOLED)));
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new StoreError(
      `${path} has settlements that the database does not know. Restore the database that belongs to this file, or move the file away.`,
      {
        cause,
      },
    );
  }
  const settled = [...settledBy(units)];
  onSpool?.({ closed: settled.map(([id]) => id), charged: settled.reduce((sum, [, cost]) => sum + cost, 0), isTorn });
  const spool = Spool.create(path, generation, spoolNotes ?? null);
  books.useSpool(spool);
  return () => spool.close();
}

/** Migrates the tables. A new version only adds to the schema, so earlier programs continue to run. */
const bringUpToDate = (url: string, program: string): Promise<readonly number[]> =>
  once(
    url,
    async (connection) => {
      await requireSafety(connection);
      return migrate(connection, SCHEMA, program);
    },
    MIGRATION_BOUNDS,
  );

async function tables(url: string): Promise<TablesState> {
  const { program, servesProgram, ...versions } = await once(url, async (connection) => {
    const state = await schemaOf(connection);
    refuseUnreleased(state, SCHEMA);
    return state;
  });
  return { ...versions, program: program || null, servesProgram: servesProgram || null, known: latestOf(SCHEMA) };
}

async function examine(url: string): Promise<StoreExamination> {
  const [faults, { version, used, most }] = await once(url, async (connection) => {
    const { rows } = await connection.run<{ version: string; used: number; most: number }>(
      `SELECT current_setting('server_version') AS version, current_setting('max_connections')::int AS most,
        (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS used`,
    );
    return [await safetyFaults(connection), rows[0]!] as const;
  });
  return { engine: `PostgreSQL ${version}`, faults, tables: null, connections: { used, most } };
}

async function read(url: string): Promise<StoreReader> {
  const db = await PostgresSnapshot.open(addressOf(url));
  const close = () => void db.close();
  return {
    ...postgresRepositories(db, null),
    unbooked: (spool) => unbookedIn(db, spool),
    close,
    [Symbol.dispose]: close,
  };
}

const SELECT_OPEN = sql(
  `SELECT id, amount - charged AS "left" FROM holds WHERE state = 'open' AND id = ANY (?::bigint[])`,
);

/** @returns the open holds that a spool settles, and the charges of these settlements: at most the amount that is left of each hold */
async function unbookedIn(db: SqlReader, { path }: SpoolSettlements): Promise<UnbookedSettlements> {
  const settled = settledBy(readSpool(path).units);
  const open = await db.query<{ id: number; left: Microcredits }>(SELECT_OPEN, [`{${[...settled.keys()].join(',')}}`]);
  const charged = open.reduce((sum, { id, left }) => sum + Math.min(left, settled.get(id) ?? 0), 0);
  return { closed: open.map(({ id }) => id), charged };
}

async function accept(url: string): Promise<boolean> {
  const db = await openPostgres({ url });
  try {
    return await acceptTimeline(db);
  } finally {
    await db.close();
  }
}
