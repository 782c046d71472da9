import { UsageError } from '../../core/usage-error.ts';
import { findSecret } from '../../learning/secret.ts';
import type { StoreReader } from '../../store/driver.ts';
import { readStore } from '../../store/open.ts';
import type { PolicyCommand } from '../policy/command.ts';

/** The inputs of every command on learning, whose database exists. */
export type LearnCommand = Pick<PolicyCommand, 'judge' | 'folder' | 'database' | 'terminal' | 'write'>;

/** Reads the database as it is at one moment, beside a server. Throws UsageError where no server has learned yet. */
export async function reading<T>(
  { database }: LearnCommand,
  read: (reader: StoreReader) => T | Promise<T>,
): Promise<T> {
  using reader = await readStore(database, ['learning']);
  if ((await findSecret(reader)) !== null) return await read(reader);
  throw new UsageError(`${database} has no learning data of this version yet. Start the server once to create it.`);
}
