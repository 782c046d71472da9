import { KeyConflict } from '../../access/key-patch.ts';
import type { Keys } from '../../access/keys.ts';
import type { People } from '../../access/people.ts';
import { PeopleError } from '../../access/people-terms.ts';
import { KeyTermsError } from '../../access/terms.ts';
import { UsageError } from '../../core/usage-error.ts';
import type { WalletSource } from '../../operate/wallets.ts';
import type { Repositories } from '../../store/repositories.ts';

/** The inputs of every command on keys. */
export interface KeysCommand extends Pick<WalletSource, 'file' | 'now'> {
  readonly keys: Keys;
  readonly people: People;
  readonly store: Pick<Repositories, 'ledger' | 'trail'>;
}

/** Throws UsageError where no server of this version has used the database. */
export async function requireLedger({ ledger }: Pick<Repositories, 'ledger'>): Promise<void> {
  if (await ledger.exists()) return;
  throw new UsageError('The database has no ledger of this version yet. Start the server once to create it.');
}

/** Wraps commands that set terms of keys or wallets: a refusal becomes a UsageError. */
export const withTerms =
  <Args extends readonly unknown[]>(run: (...args: Args) => Promise<string>) =>
  (...args: Args): Promise<string> =>
    run(...args).catch((cause: unknown) => {
      const isRefusal = [KeyTermsError, KeyConflict, PeopleError].some((kind) => cause instanceof kind);
      throw isRefusal && cause instanceof Error ? new UsageError(cause.message) : cause;
    });
