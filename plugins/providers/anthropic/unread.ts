import type { StreamPart, UnreadOutput } from 'signalbox/plugin';
import { type Json, listOf, objectOf } from '../json.ts';
import { areShown, OutputFound } from '../unread.ts';

/** Members of a block, or of a piece of one, that other parts tell where they tell anything of it. */
const READ: ReadonlySet<string> = new Set(['text', 'thinking', 'partial_json', 'name', 'input']);
const OF_EVENT: ReadonlySet<string> = new Set(['content_block', 'delta']);
/** Events without output; an unknown one may have any. */
const WITHOUT: ReadonlySet<string> = new Set(['message_delta', 'content_block_stop', 'ping']);

/** Adds what none of the parts that were read from a block tells of it: blocks of the service's own tools, citations, signatures. */
export function addUnreadOfBlock(found: OutputFound, block: unknown, read: readonly StreamPart[]): void {
  found.add(block, areShown(read) ? READ : undefined);
}

/** Returns the same of an event. */
export function unreadOf(type: string, event: Json, read: readonly StreamPart[]): UnreadOutput | undefined {
  if (WITHOUT.has(type)) return undefined;
  const found = new OutputFound();
  if (type === 'message_start') for (const block of listOf(objectOf(event.message).content)) found.add(block);
  else {
    addUnreadOfBlock(found, event.content_block ?? event.delta, read);
    found.add(event, OF_EVENT);
  }
  return found.last();
}
