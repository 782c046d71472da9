import { join } from 'node:path';
import { type LedgerState, NO_LEDGER } from '../core/budget.ts';
import type { KnownLabels } from '../policy/misspelt-values.ts';
import { readStore, storeExists } from '../store/open.ts';
import type { PeopleChanges } from '../store/people.ts';
import { StoreError } from '../store/store.ts';

/** The URL of the store of a data folder: the path of its database. */
export const databaseOf = (data: string): string => join(data, 'signalbox.db');

/** Settlements that the database could not take, in a data folder. */
export const spoolOf = (data: string): string => join(data, 'settlements.spool');

/** Reads the teams in a data folder that were made through the API: name → ID. */
export async function madeTeamsOnDisk(data: string): Promise<() => ReadonlyMap<string, string>> {
  const made = new Map<string, string>();
  if (await storeExists(databaseOf(data))) {
    using reader = await readStore(databaseOf(data), ['people']);
    // Tables of an earlier version need not be there.
    const { teams } = await reader.people.changedAfter(-1).catch(orNone);
    for (const { row } of teams) if (row.origin === 'api' && row.removedAt === null) made.set(row.name, row.id);
  }
  return () => made;
}

function orNone(error: unknown): Pick<PeopleChanges, 'teams'> {
  if (error instanceof StoreError) return { teams: [] };
  throw error;
}

/** Reads the labels of the keys in a data folder that are not revoked. */
export async function labelsOnDisk(data: string): Promise<() => KnownLabels> {
  const labels = new Map<string, Set<string>>();
  if (await storeExists(databaseOf(data))) {
    using reader = await readStore(databaseOf(data), ['access']);
    // Tables of an earlier version need not be there, and rules are judged without labels, too.
    const keys = await reader.keys.all().catch((error: unknown) => {
      if (error instanceof StoreError) return [];
      throw error;
    });
    for (const { key } of keys) {
      if (key.info.revokedAt !== null) continue;
      for (const [name, value] of Object.entries(key.info.labels))
        labels.set(name, (labels.get(name) ?? new Set()).add(value));
    }
  }
  return () => labels;
}

/** Reads the state of the ledger in a data folder, which a policy must fit before a server starts. */
export async function ledgerOnDisk(data: string): Promise<() => LedgerState> {
  if (!(await storeExists(databaseOf(data)))) return () => NO_LEDGER;
  using reader = await readStore(databaseOf(data), ['ledger']);
  const state = await reader.ledger.state();
  return () => state;
}
