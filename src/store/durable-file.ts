import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Writes a file, readable by its owner only, and replaces one of that name. Its content is on the disk when this resolves. A
 * crash can leave a partial file: write under a temporary name, then `moveDurably`. Rejects with the system's error.
 */
export async function writeDurably(file: string, content: string): Promise<void> {
  // An existing file might be readable by others.
  await rm(file, { force: true });
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Gives a file its final name in the same folder, in place of the file of that name. A crash leaves one of the two. Rejects with the system's error. */
export async function moveDurably(file: string, target: string): Promise<void> {
  await rename(file, target);
  const folder = await open(dirname(target), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Syncs a folder while nothing else happens: a new name in it is on the disk only then. */
export function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Writes all bytes at a place of an open file. A disk that has no room for all of them may take a part, and says so only at the next write. */
export function writeAll(fd: number, bytes: Uint8Array, at: number): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done, at + done);
}
