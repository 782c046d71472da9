import { readLearning } from '../../operate/learning/reading.ts';
import type { StoreReader } from '../../store/driver.ts';
import type { PolicyCommand } from '../policy/command.ts';
import { operator } from '../user.ts';

/** The inputs of every command on learning, whose database exists. */
export type LearnCommand = Pick<PolicyCommand, 'judge' | 'folder' | 'database' | 'terminal' | 'write'>;

/** As `readLearning`, for the operator. */
export const reading = <T>({ database }: LearnCommand, read: (reader: StoreReader) => T | Promise<T>): Promise<T> =>
  readLearning(operator(), database, read);
