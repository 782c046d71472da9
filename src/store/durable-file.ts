import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Writes a file that only its owner can read, and replaces a file of the same name. The content is on the disk when the promise resolves. A
 * crash can leave a partial file, so callers write the file under a temporary name and then call `moveDurably`. Rejects with the system's
 * error.
 */
export async function writeDurably(file: string, content: string): Promise<void> {
  // An existing file could be readable by others, so the existing file is deleted first.
  await rm(file, { force: true });
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Renames a file within its folder and replaces a file of the target name. After a crash, either the old or the new file has the target
 * name. Rejects with the system's error.
 */
export async function moveDurably(file: string, target: string): Promise<void> {
  await rename(file, target);
  const folder = await open(dirname(target), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Syncs a folder, and blocks the process until that is done. A new file name in the folder is durable only after the sync. */
export function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/**
 * Writes all bytes at a position of an open file. The loop is needed because a full disk may accept only a part of the bytes, and then
 * reports the error at the next write.
 */
export function writeAll(fd: number, bytes: Uint8Array, at: number): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done, at + done);
}
