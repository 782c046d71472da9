import type { StreamPart, UnreadOutput, Usage } from 'signalbox/plugin';
import type { Json } from './json.ts';

/** The failure of an answer that violates its dialect. */
export function malformed(message: string): StreamPart {
  return { type: 'failure', failure: { kind: 'malformed', message } };
}

/** What an event bears beside its content in other parts. */
interface EventNotes {
  readonly unread?: UnreadOutput;
  readonly usage?: Usage;
}

/**
 * An event that goes out as it came.
 * @param json the event as its service wrote it. Over several lines it does not fit an event of the way out, and is written anew
 */
export function passedEvent(event: Json, json: string, { unread, usage }: EventNotes): StreamPart {
  const isLine = json !== '' && !json.includes('\n');
  return { type: 'passthrough', choice: 0, event, json: isLine ? json : undefined, unread, usage };
}

/** Output that only is counted, of an answer that is translated. Returns no part for none. */
export const unreadParts = (unread: UnreadOutput | undefined, choice = 0): readonly StreamPart[] =>
  unread ? [{ type: 'unread', choice, unread }] : NOTHING;
const NOTHING: readonly StreamPart[] = [];

/** Adds the usage of an unstreamed answer: before a failure, which ends reading, because usage is billed anyway. */
export function addUsage(usage: Usage | null, parts: StreamPart[]): void {
  if (!usage) return;
  const failed = parts.findIndex(isFailure);
  if (failed < 0) parts.push({ type: 'usage', usage });
  else parts.splice(failed, 0, { type: 'usage', usage });
}

const isFailure = ({ type }: StreamPart): boolean => type === 'failure';
