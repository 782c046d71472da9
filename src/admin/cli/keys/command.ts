import type { Keys } from '../../../access/keys.ts';
import type { People } from '../../../access/people.ts';
import { UsageError } from '../../../core/usage-error.ts';
import type { Repositories } from '../../../store/repositories.ts';

/** The inputs of every command on keys. */
export interface KeysCommand {
  /** The path of the database. */
  readonly file: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly keys: Keys;
  readonly people: People;
  readonly store: Pick<Repositories, 'ledger' | 'trail'>;
  /** Writes a sentence to the standard error. */
  readonly warn?: (text: string) => void;
}

/** Throws UsageError if no server of this version has used the database yet. */
export async function requireLedger({ ledger }: Pick<Repositories, 'ledger'>): Promise<void> {
  if (await ledger.exists()) return;
  throw new UsageError('The database has no ledger of this version yet. Start the server once to create the ledger.');
}
