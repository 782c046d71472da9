import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { newKey } from '../access/key.ts';
import type { Keys } from '../access/keys.ts';
import { FULL_SCOPES } from '../core/people/caller.ts';
import { UsageError } from '../core/usage-error.ts';
import type { Log } from '../host/telemetry/log.ts';
import { moveDurably, writeDurably } from '../store/durable-file.ts';
import { reasonOf } from '../store/reason.ts';
import type { Terminal } from './host.ts';

/** The first API key. Each start finds the first API key again until a start has handed it to the operator. */
export interface FirstKey {
  readonly key: string;
  /** Writes the key into `admin.key`, and returns the path of that file. */
  toFile(): Promise<string>;
  /** Deletes the stored copy, once the terminal has shown the key. */
  shown(): void;
}

/**
 * Creates the first key of a database that has none, or finds the first key that an earlier start did not hand over. The key is written to
 * a `.part` file before the database stores it. After a crash, the `.part` file has either a key that was never valid, or a key that the
 * next start hands over.
 * @param keyFile whether the key will be written to `admin.key`
 * @returns null if there is no first key to hand over
 * @throws UsageError if the key cannot be created or written
 */
export async function openFirstKey(keys: Keys, data: string, keyFile: boolean): Promise<FirstKey | null> {
  const file = join(data, 'admin.key');
  const part = `${file}.part`;
  if (isFolder(file) || isFolder(part)) {
    throw new UsageError(`${isFolder(file) ? file : part} is a folder; move it away and start again.`);
  }
  const written = async (write: () => Promise<void>): Promise<void> => {
    try {
      await write();
    } catch (cause) {
      throw new UsageError(`The first API key cannot be written to ${file}: ${reasonOf(cause)}.`);
    }
  };
  const pending = (key: string): FirstKey => ({
    key,
    async toFile() {
      await written(() => moveDurably(part, file));
      return file;
    },
    shown: () => rmSync(part, { force: true }),
  });

  if (await keys.isEmpty()) {
    if (keyFile && existsSync(file))
      throw new UsageError(`${file} exists, but the database has no keys; move the file away and start again.`);
    const key = newKey();
    await written(() => writeDurably(part, `${key}\n`));
    await keys.create({ name: 'admin', scopes: FULL_SCOPES }, undefined, { key });
    return pending(key);
  }
  if (!existsSync(part)) return null;
  const key = readFileSync(part, 'utf8').trim();
  if (keys.authenticate(`Bearer ${key}`).caller !== null) return pending(key);
  rmSync(part);
  return null;
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/**
 * Writes the first key to its file if there is no terminal that shows it.
 * @returns where the operator finds the key, in words; null if this start has no first key
 */
export async function handOver(firstKey: FirstKey | null, { isTerminal }: Terminal, log: Log): Promise<string | null> {
  if (!firstKey) return null;
  if (isTerminal) return 'the API key below';
  const file = await firstKey.toFile();
  log.info('the first API key was written', { file });
  return `the API key in ${file}`;
}
