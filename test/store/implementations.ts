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

/** The ledger, and traffic that is counted from it, have suites of their own. */
type TestedRepositories = Omit<Repositories, 'ledger' | 'journal' | 'traffic'>;

export type TestedStore = Pick<Store, 'commit' | 'append' | 'written' | 'close'> &
  TestedRepositories & { readonly news: News } & AsyncDisposable;

/** By the repositories of SQLite; see `MemoryStore`. */
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

/** Calls whose order their maker relies on, though nothing of one handle waits for another; and what one handle hears. */
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

/** @returns which of the handles on a world a call goes to: by its seed, but for what one handle alone keeps in order */
export const anyHandle = (world: World, handles: number) => (name: string) =>
  OF_ONE.has(name) ? 0 : Math.floor(world.random() * handles);

export const hostileWorld = (): World => new World({ clock: turnsClock, faults: SLOW, seed: seedOf('hostile suites') });

/** The hostile store, by so many handles. */
export async function openHostile(handles: number): Promise<TestedStore> {
  const world = hostileWorld();
  const opening = Array.from({ length: handles }, (_, at) => world.open(`instance ${at}`));
  const stores = await Promise.all(opening);
  const store = either(stores, anyHandle(world, handles));
  // One that stays open renews its lease by a clock of turns, which keeps a core busy to the end of the process.
  const close = async () => void (await Promise.all(stores.map((one) => one.close())));
  return Object.assign(store, { close, [Symbol.asyncDispose]: close });
}

/** Runs a case suite over every way to a store. */
export function overEach(suite: (open: () => Promise<TestedStore>) => void): void {
  describe('in SQLite', () => suite(openInSqlite));
  if (isDeep) describe('on the hostile store', () => suite(() => openHostile(1)));
  describe('on the hostile store, two instances', () => suite(() => openHostile(2)));
}

/** The reason why a commit was refused; null where it was not. */
export const refusalOf = (committed: Promise<unknown>): Promise<string | null> =>
  committed.then(
    () => null,
    (error: unknown) => {
      if (error instanceof StoreError) return error.reason;
      throw error;
    },
  );
