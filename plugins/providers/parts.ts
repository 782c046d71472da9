import type { StreamPart, Usage } from 'signalbox/plugin';

/** The failure of an answer that violates its dialect. */
export function malformed(message: string): StreamPart {
  return { type: 'failure', failure: { kind: 'malformed', message } };
}

/** Adds the usage of an unstreamed answer: before a failure, which ends reading, because usage is billed anyway. */
export function addUsage(usage: Usage | null, parts: StreamPart[]): void {
  if (!usage) return;
  const failed = parts.findIndex(({ type }) => type === 'failure');
  parts.splice(failed < 0 ? parts.length : failed, 0, { type: 'usage', usage });
}
