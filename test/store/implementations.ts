import { describe } from 'bun:test';
import type { News } from '../../src/store/news.ts';
import { openStore } from '../../src/store/open.ts';
import type { Repositories } from '../../src/store/repositories.ts';
import { type Store, StoreError } from '../../src/store/store.ts';
import { isDeep, seedOf } from '../deep/effort.ts';
import { layStore } from '../support/empty-store.ts';
import { turnsClock } from './hostile/clock.ts';
import { SLOW } from './hostile/faults.ts';
import { either } from './hostile/through.ts';
import { World } from './hostile/world.ts';
import { storeInMemory } from './memory/store.ts';
import { tempFolder } from './support.ts';

/** The ledger, and traffic that is counted from it, have their own suites. */
type TestedRepositories = Omit<Repositories, 'ledger' | 'journal' | 'traffic'>;

export type TestedStore = Pick<Store, 'commit' | 'append' | 'written' | 'close'> &
  TestedRepositories & { readonly news: News } & AsyncDisposable;

/** Opens a store in memory that uses the repositories of SQLite; see `MemoryStore`. */
export async function openInMemory(): Promise<TestedStore> {
  const store = storeInMemory();
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() });
}

export async function openInSqlite(): Promise<TestedStore> {
  const folder = tempFolder();
  await layStore(folder.file);
  const store = await openStore(folder.file, { mode: 'serve' });
  const dispose = async () => {
    await store.close().catch(() => {});
    folder[Symbol.dispose]();
  };
  return Object.assign(store, { [Symbol.asyncDispose]: dispose });
}

/** Methods that must always use the same handle: callers rely on the order of these calls, or on what one handle is notified of. */
export const OF_ONE: ReadonlySet<string> = new Set([
  'append',
  'defer',
  'written',
  'flush',
  'close',
  'on',
  'look',
  'ageOf',
]);

/** @returns the handle that a call goes to: chosen by the world's seed, except for the methods in `OF_ONE` */
export const anyHandle = (world: World, handles: number) => (name: string) =>
  OF_ONE.has(name) ? 0 : Math.floor(world.random() * handles);

export const hostileWorld = (): World => new World({ clock: turnsClock, faults: SLOW, seed: seedOf('hostile suites') });

/** Opens the hostile store with this many handles. */
export async function openHostile(handles: number): Promise<TestedStore> {
  const world = hostileWorld();
  const opening = Array.from({ length: handles }, (_, at) => world.open(`instance ${at}`));
  const stores = await Promise.all(opening);
  const store = either(stores, anyHandle(world, handles));
  // All handles are closed. An open handle would renew its lease on a clock of turns, which keeps a core busy until the process ends.
  const close = async () => void (await Promise.all(stores.map((one) => one.close())));
  return Object.assign(store, { close, [Symbol.asyncDispose]: close });
}

/** Runs a suite with every implementation of a store. */
export function overEach(suite: (open: () => Promise<TestedStore>) => void): void {
  describe('in SQLite', () => suite(openInSqlite));
  if (isDeep) describe('on the hostile store', () => suite(() => openHostile(1)));
  describe('on the hostile store, two instances', () => suite(() => openHostile(2)));
}

/** Resolves with the reason why a commit was refused; null if it was not. */
export const refusalOf = (committed: Promise<unknown>): Promise<string | null> =>
  committed.then(
    () => null,
    (error: unknown) => {
      if (error instanceof StoreError) return error.reason;
      throw error;
    },
  );
