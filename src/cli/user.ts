import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';

/**
 * The user who runs this process, for an audit: by the system's list of users, because Bun's `userInfo` returns the variable
 * USER, which anybody can set. A user outside the list, as in a container or a directory service, is a number.
 */
export function userName(): string {
  const uid = process.getuid?.();
  return uid === undefined ? userInfo().username : (nameOf(uid) ?? `uid ${uid}`);
}

function nameOf(uid: number): string | null {
  try {
    const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
    const fields = lines.map((line) => line.split(':'));
    return fields.find(([, , id]) => id === String(uid))?.[0] ?? null;
  } catch {
    return null;
  }
}
