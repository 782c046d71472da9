import type { Host } from './host.ts';

/** npm passes a Ctrl-C on to its script, to which the terminal has sent it already: a second SIGINT within this time is the first one's copy, ms. */
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
