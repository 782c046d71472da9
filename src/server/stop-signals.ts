import type { Host } from './host.ts';

/**
 * If npm started the process, a Ctrl-C arrives twice: from the terminal, and passed on by npm. A second SIGINT within this time (ms) counts
 * as a copy of the first SIGINT.
 */
const COPY_MS = 1_000;

/** Calls `stop` at each SIGTERM and each Ctrl-C. State: shutdown. */
export function onStopSignals({ on, clock }: Pick<Host, 'on' | 'clock'>, stop: (signal: string) => void): void {
  let copiesUntil = Number.NEGATIVE_INFINITY;
  on('SIGTERM', () => stop('SIGTERM'));
  on('SIGINT', () => {
    if (clock() < copiesUntil) return;
    copiesUntil = clock() + COPY_MS;
    stop('SIGINT');
  });
}
