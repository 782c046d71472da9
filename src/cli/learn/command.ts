import { UsageError } from '../../core/usage-error.ts';
import { findSecret } from '../../learning/secret.ts';
import type { JudgeTools } from '../../operate/policy/tools.ts';
import type { StoreReader } from '../../store/driver.ts';
import { readStore } from '../../store/open.ts';
import type { Writer } from '../csv.ts';

/** The inputs of every command on learning. */
export interface LearnCommand {
  /** The database, which exists. */
  readonly file: string;
  /** The folder of the policy. */
  readonly folder: string;
  readonly judge: JudgeTools;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Whether to write lines that fit a terminal. */
  readonly terminal: boolean;
  readonly write: Writer;
}

/** Reads the database as it is at one moment, beside a server. Throws UsageError where no server has learned yet. */
export async function reading<T>({ file }: LearnCommand, read: (reader: StoreReader) => Promise<T>): Promise<T> {
  using reader = await readStore(file, ['learning']);
  if ((await findSecret(reader)) !== null) return await read(reader);
  throw new UsageError(`${file} has no learning data of this version yet. Start the server once to create it.`);
}
