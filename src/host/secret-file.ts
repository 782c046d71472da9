import { readFileSync, statSync } from 'node:fs';
import { codeOf, messageOf } from '../core/thrown.ts';

/** The most bytes of a secret's file. */
const SECRET_BYTES_MAX = 65_536;

/** Returns the text of a file with a secret, without its final line break, or the reason why it cannot be used. */
export function readSecretFile(path: string): { readonly value: string } | { readonly problem: string } {
  try {
    // Reading a pipe might never end, so only regular files are read.
    const found = statSync(path);
    if (!found.isFile()) return { problem: 'it is not a file' };
    if (found.size > SECRET_BYTES_MAX) return { problem: 'it is larger than 64 KiB' };
    const text = decoded(readFileSync(path));
    if (text === null) return { problem: 'it is not UTF-8' };
    const value = text.replace(/\r?\n$/, '');
    return value.trim() === '' ? { problem: 'it is empty' } : { value };
  } catch (cause) {
    return { problem: REASONS.get(codeOf(cause)) ?? messageOf(cause) };
  }
}

function decoded(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'there is no such file'],
  ['EACCES', 'permission denied'],
  ['EPERM', 'permission denied'],
  ['ELOOP', 'its symbolic links lead in a circle'],
]);
