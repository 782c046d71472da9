import { fstatSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { isatty } from 'node:tty';
import { operatorAs, type Principal } from '../admin/use-cases/principal.ts';

/** How the audit trail names the user of a command, with the owner of the terminal, which `sudo` does not change. */
export const commandActor = () => ({ kind: 'cli', name: userName(), from: terminalUser() }) as const;

/** The principal on whose behalf a command runs. */
export const operator = (): Principal => operatorAs(commandActor());

/** The owner of the terminal of this process; null without a terminal, as in a script. */
function terminalUser(): string | null {
  const terminal = [0, 1, 2].find((fd) => isatty(fd));
  if (terminal === undefined) return null;
  const { uid } = fstatSync(terminal);
  return nameOf(uid) ?? `uid ${uid}`;
}

/**
 * The user who runs this process, for the audit trail. The name comes from the system's list of users, because Bun's `userInfo` returns the
 * variable USER, which any user can set. If the list does not have the user, as in a container or with a directory service, the name is the
 * user's number.
 */
function userName(): string {
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
