import { UsageError } from '../../core/usage-error.ts';
import { findSecret } from '../../learning/secret.ts';
import type { StoreReader } from '../../store/driver.ts';
import { placeOfStore, readStore } from '../../store/open.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';

/** Reads the learning data as it is at one moment, beside a server. Throws UsageError where no server has learned yet. */
export async function readLearning<T>(
  by: Principal,
  database: string,
  read: (reader: StoreReader) => T | Promise<T>,
): Promise<T> {
  checkAction(by.caller, 'learning.read');
  using reader = await readStore(database, ['learning']);
  if ((await findSecret(reader)) !== null) return await read(reader);
  const place = await placeOfStore(database);
  throw new UsageError(`${place} has no learning data of this version yet. Start the server once to create it.`);
}
