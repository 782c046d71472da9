import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Writes a file whose content is on the disk when this returns, readable by its owner only. A file of that name is
 * removed first. A crash can leave a part of the content: write beside the final name, then `moveDurably`.
 */
export function writeDurably(file: string, content: string): void {
  rmSync(file, { force: true });
  const handle = openSync(file, 'wx', 0o600);
  try {
    const bytes = Buffer.from(content);
    for (let at = 0; at < bytes.length; ) at += writeSync(handle, bytes, at);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Gives a file its final name in the same folder, in place of what has that name. A crash leaves the one or the other. */
export function moveDurably(file: string, target: string): void {
  renameSync(file, target);
  syncFolder(dirname(target));
}

/** Syncs a folder: a new name in it is on the disk only then. */
export function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
