import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { processFolder, type ServeOptions } from '../admin/use-cases/serve-options.ts';
import { type LedgerState, NO_LEDGER } from '../core/money/budget.ts';
import type { TeamNames } from '../core/people/people.ts';
import { UsageError } from '../core/usage-error.ts';
import type { PolicyTools } from '../policy/runtime/candidate.ts';
import { readStore, storeExists } from '../store/open.ts';
import { teamNamesOf } from '../store/people.ts';
import type { PushedPolicy } from '../store/pushed-policies.ts';
import { reasonOf } from '../store/reason.ts';
import { StoreError } from '../store/store.ts';

/** The data folder and the database where a server keeps its state. */
export type DataPlace = Pick<ServeOptions, 'data' | 'database'>;

/**
 * Creates the data folder.
 * @throws UsageError if the folder cannot be created
 */
export function makeDataFolder(data: string): void {
  try {
    mkdirSync(data, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new UsageError(`Cannot use the data folder ${resolve(data)}: ${reasonOf(cause)}.`);
  }
}

/** The path of the spool in a data folder: the settlements that the database could not accept. */
export const spoolOf = (data: string): string => join(data, 'settlements.spool');

/** Returns the data folders of the processes that serve from a home folder, with their numbers. */
export function processFolders(home: string): readonly (readonly [number: number, data: string])[] {
  const folder = join(home, 'processes');
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => /^\d+$/.test(name)) : [];
  return names.map((name) => [Number(name), processFolder(home, name)]);
}

/** Returns the spools of a home folder: its own spool, and the spools of its processes. */
export const spoolsOf = (home: string): string[] =>
  [home, ...processFolders(home).map(([, data]) => data)].map(spoolOf);

/** The state of a store that a policy must fit before a server starts. */
interface StoredState {
  readonly ledger: () => LedgerState;
  /** The teams, by the names that policies can use for them; null without a store. */
  readonly teams: TeamNames | null;
  /** The latest pushed revision; null if no policy was pushed or if it was not requested. */
  readonly pushed: PushedPolicy | null;
}

/** Opening a database takes longer than these few reads, so a single reader does all of them. */
export async function stateOnDisk(database: string, { readsPushed = false } = {}): Promise<StoredState> {
  if (!(await storeExists(database))) return { ledger: () => NO_LEDGER, teams: null, pushed: null };
  using reader = await readStore(database, readsPushed ? ['ledger', 'people', 'policies'] : ['ledger', 'people']);
  const state = await reader.ledger.state();
  // A file without tables has no teams.
  const { teams } = await reader.people.changedAfter(-1).catch(orElse({ teams: [] }));
  const pushed = readsPushed ? await reader.pushedPolicies.head().catch(orElse(null)) : null;
  return { ledger: () => state, teams: teamNamesOf(teams.map(({ row }) => row)), pushed };
}

/** Makes an error handler that returns `none` where tables cannot be read. */
const orElse =
  <T>(none: T) =>
  (error: unknown): T => {
    if (error instanceof StoreError) return none;
    throw error;
  };

/** Reads the facts about keys that policies are judged with: the labels of all keys that are not revoked, and the IDs of their teams. */
export async function keysOnDisk(database: string): Promise<Pick<PolicyTools, 'labels' | 'teamsWithKeys'>> {
  const teams = new Set<string>();
  const labels = new Map<string, Set<string>>();
  if (await storeExists(database)) {
    using reader = await readStore(database, ['access']);
    // A file without tables has no keys. Signalbox can check rules without the labels of keys.
    const { rows } = await reader.keys.changedAfter(-1).catch(orElse({ rows: [] }));
    for (const { key } of rows) {
      if (key.info.team !== null) teams.add(key.info.team);
      for (const [name, value] of Object.entries(key.info.labels))
        labels.set(name, (labels.get(name) ?? new Set()).add(value));
    }
  }
  return { labels: () => labels, teamsWithKeys: () => teams };
}
