import { closeSync, openSync } from 'node:fs';

/** Returns false once the terminal that started the process is closed. */
export function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}
