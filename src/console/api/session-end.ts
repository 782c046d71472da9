import { signal } from '@preact/signals';

/** Counts the logins that ended under the page: the shell asks again who is signed in. */
export const sessionEnds = signal(0);

export function endSession(): void {
  sessionEnds.value += 1;
}
