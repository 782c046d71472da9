import { processTimers } from '../../../src/host/telemetry/process-timers.ts';
import { NEWS_SUBJECTS } from '../../../src/store/news.ts';
import { addressOf } from '../../../src/store/postgres/address.ts';
import { Connection } from '../../../src/store/postgres/connection.ts';
import { postgresNews } from '../../../src/store/postgres/news.ts';
import { postgresRepositories } from '../../../src/store/postgres/repositories.ts';
import { COUNTING_BEGINS } from '../../../src/store/postgres/schema/versions.ts';
import { openPostgres, type PostgresOptions, type PostgresStore } from '../../../src/store/postgres/store.ts';
import type { SqlTables } from '../../../src/store/sql/statement.ts';
import type { Store } from '../../../src/store/store.ts';
import { laidDatabase } from '../../support/shared-postgres.ts';
import { either } from '../hostile/through.ts';
import { OF_ONE, type TestedStore } from '../implementations.ts';

/** A handle that accepts the writes of its repositories. */
export type Handle = Store & Pick<PostgresStore, 'query' | 'activity' | 'unkept' | 'open' | 'fence'>;

export const openHandle = (url: string, options: Partial<PostgresOptions> = {}): Promise<Handle & SqlTables> =>
  openPostgres({ url, ...options });

/** Returns the repositories and the news of a handle. */
export const withRepositories = (store: Handle & SqlTables, close = () => store.close()) => {
  const news = postgresNews(store, {
    open: store.open,
    clock: () => performance.now(),
    timers: processTimers,
    onAway: () => {},
  });
  const { written, flush, commit, append } = store;
  const own = { written, flush, commit, append };
  const bound = Object.fromEntries(Object.entries(own).map(([name, method]) => [name, method.bind(store)]));
  return { ...(bound as typeof own), ...postgresRepositories(store, processTimers), news, close };
};

const BOOKS_BEGIN = 'INSERT INTO folded (id) VALUES (1); INSERT INTO terms (id) VALUES (1)';

/** Empties all tables without running their triggers, so that the next test finds the content of a new database. */
export async function emptiedBy(connection: Connection): Promise<string> {
  const { rows } = await connection.run<{ step: string }>(`
    SELECT format('DELETE FROM %I', relname) AS step FROM pg_class
      WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = 'public'::regnamespace AND relname NOT IN ('signalbox_schema', 'news', 'identity')
    UNION ALL SELECT format('SELECT setval(%L, 1, false)', relname) FROM pg_class
      WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace`);
  const news = `UPDATE news SET ${NEWS_SUBJECTS.map((subject) => `${subject} = 0`).join(', ')}`;
  const empty = rows.map(({ step }) => step);
  return ['SET session_replication_role = replica', news, ...empty, COUNTING_BEGINS, BOOKS_BEGIN].join(';\n');
}

interface Bench {
  readonly stores: readonly (Handle & SqlTables)[];
  empty(): Promise<void>;
}

async function openBench(handles: number): Promise<Bench> {
  const { url } = await laidDatabase();
  const stores = await Promise.all(Array.from({ length: handles }, () => openHandle(url)));
  const connection = await Connection.open(addressOf(url));
  const script = await emptiedBy(connection);
  return { stores, empty: async () => void (await connection.script(script)) };
}

/** Databases with their handles, by the number of handles. Tests use the databases one after another. */
const benches = new Map<number, Promise<Bench>>();

/** Opens a store in PostgreSQL with this many handles. Calls go to the handles in turn. */
export async function openInPostgres(handles: number): Promise<TestedStore> {
  const bench = benches.get(handles) ?? openBench(handles);
  benches.set(handles, bench);
  const { stores, empty } = await bench;
  await empty();
  let next = 0;
  const close = async () => {
    for (const store of stores) await store.flush();
  };
  const tested = stores.map((store) => ({ ...withRepositories(store, close), [Symbol.asyncDispose]: close }));
  return either(tested, (name) => (OF_ONE.has(name) ? 0 : next++ % handles));
}
