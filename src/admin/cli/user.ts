import { fstatSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { isatty } from 'node:tty';
import { operatorAs, type Principal } from '../use-cases/principal.ts';

/** As whom the trail names the user of a command, and the owner of its terminal, which `sudo` does not change. */
export const commandActor = () => ({ kind: 'cli', name: userName(), from: terminalUser() }) as const;

/** The principal of a command. */
export const operator = (): Principal => operatorAs(commandActor());

/** The owner of the terminal of this process; null without one, as in a script. */
function terminalUser(): string | null {
  const terminal = [0, 1, 2].find((fd) => isatty(fd));
  if (terminal === undefined) return null;
  const { uid } = fstatSync(terminal);
  return nameOf(uid) ?? `uid ${uid}`;
}

/**
 * The user who runs this process, for an audit: by the system's list of users, because Bun's `userInfo` returns the variable
 * USER, which anybody can set. A user outside the list, as in a container or a directory service, is a number.
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
