import type { KeysOptions } from '../../src/access/key-copy.ts';
import { type Keys, openKeys } from '../../src/access/keys.ts';
import { openSqlite, type SqliteRepositories } from '../../src/store/sqlite/database.ts';
import { accessMigrations } from '../../src/store/sqlite/keys.ts';
import { loginMigrations } from '../../src/store/sqlite/logins.ts';
import { paymentMigrations } from '../../src/store/sqlite/payments.ts';
import { peopleMigrations } from '../../src/store/sqlite/people.ts';
import { subjectMigrations } from '../../src/store/sqlite/subjects.ts';

export interface Clock {
  now: number;
}

export interface OpenedKeys {
  readonly store: SqliteRepositories;
  readonly keys: Keys;
  readonly clock: Clock;
  close(): Promise<void>;
}

export const MORNING = Date.UTC(2026, 10, 20, 9, 30);

/** Opens the keys of one process on the database at `file`. */
export async function open(
  file: string,
  clock: Clock = { now: MORNING },
  options: Partial<KeysOptions> = {},
): Promise<OpenedKeys> {
  const store = await openSqlite(file, [
    accessMigrations,
    paymentMigrations,
    peopleMigrations,
    subjectMigrations,
    loginMigrations,
  ]);
  const keys = await openKeys({ store, now: () => clock.now, ...options });
  const close = async () => {
    keys.close();
    await store.close();
  };
  return { store, keys, clock, close };
}

export const reasonOf = (keys: Keys, key: string) => keys.authenticate(`Bearer ${key}`).reason;

/** Returns all keys of the store, including revoked keys, oldest first. */
export const everyKey = (keys: Pick<Keys, 'read'>) =>
  Array.fromAsync(keys.read({ after: null, of: null, isUnrevoked: false }));
