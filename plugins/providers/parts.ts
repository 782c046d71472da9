import type { StreamPart, UnreadOutput, Usage } from 'signalbox/plugin';
import type { Json } from './json.ts';

/** Returns the failure of an answer that violates its dialect. */
export function malformed(message: string): StreamPart {
  return { type: 'failure', failure: { kind: 'malformed', message } };
}

/** The content of an event that no other part contains. */
interface EventNotes {
  readonly unread?: UnreadOutput;
  readonly usage?: Usage;
}

/**
 * Returns an event that is passed on unchanged.
 * @param json the event as its provider wrote it. If the JSON text has several lines, it cannot be sent as one event, so `passedEvent`
 * writes it again
 */
export function passedEvent(event: Json, json: string, { unread, usage }: EventNotes): StreamPart {
  const isLine = json !== '' && !json.includes('\n');
  return { type: 'passthrough', choice: 0, event, json: isLine ? json : undefined, unread, usage };
}

/** Returns a part with output that is only counted, for an answer that is translated; no part if there is no such output. */
export const unreadParts = (unread: UnreadOutput | undefined, choice = 0): readonly StreamPart[] =>
  unread ? [{ type: 'unread', choice, unread }] : NOTHING;
const NOTHING: readonly StreamPart[] = [];

/**
 * Adds the usage of an answer, or only its service tier. The usage comes before a failure, which ends reading, because the provider bills the usage
 * anyway.
 * @param cost the cost that the service states (`statedCost`)
 * @param serviceTier the service tier that the answer states
 */
export function addUsage(usage: Usage | null, parts: StreamPart[], cost?: string, serviceTier?: string): void {
  if (!usage && serviceTier === undefined) return;
  const failed = parts.findIndex(isFailure);
  const part: StreamPart = { type: 'usage', usage: usage ?? undefined, cost, serviceTier };
  if (failed < 0) parts.push(part);
  else parts.splice(failed, 0, part);
}

const isFailure = ({ type }: StreamPart): boolean => type === 'failure';
