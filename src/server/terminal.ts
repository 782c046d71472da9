import { closeSync, openSync } from 'node:fs';

/** False once the terminal that the process was started from is closed. */
export function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}
