import type { StreamPart, Usage } from 'signalbox/plugin';

/** The answer breaks its dialect. */
export function malformed(message: string): StreamPart {
  return { type: 'failure', failure: { kind: 'malformed', message } };
}

/** Puts the usage of a whole answer in its place. What was used is billed, whether or not anything came of it: nobody reads on behind a failure. */
export function addUsage(usage: Usage | null, parts: StreamPart[]): void {
  if (!usage) return;
  const failed = parts.findIndex(({ type }) => type === 'failure');
  parts.splice(failed < 0 ? parts.length : failed, 0, { type: 'usage', usage });
}
