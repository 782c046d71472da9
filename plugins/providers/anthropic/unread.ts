import type { StreamPart, UnreadOutput } from 'signalbox/plugin';
import { isObject, type Json, listOf, objectOf } from '../json.ts';
import { areShown, OutputFound } from '../unread.ts';

/** Members of a block, or of a piece of one, that other parts tell where they tell anything of it. */
const READ: ReadonlySet<string> = new Set(['text', 'thinking', 'partial_json', 'name', 'input']);
const OF_EVENT: ReadonlySet<string> = new Set(['content_block', 'delta']);
/** Events without output; an unknown one may have any. */
const WITHOUT: ReadonlySet<string> = new Set(['message_delta', 'content_block_stop', 'ping', 'message_stop', 'error']);

/** Adds what none of the parts that were read from a block tells of it: blocks of the service's own tools, citations, signatures. */
export function addUnreadOfBlock(found: OutputFound, block: unknown, read: readonly StreamPart[]): void {
  found.add(block, areShown(read) ? READ : undefined);
}

/** Returns the same of an event. */
export function unreadOf(type: string, event: Json, read: readonly StreamPart[]): UnreadOutput | undefined {
  if (WITHOUT.has(type) || isUsual(event, read)) return undefined;
  const found = new OutputFound();
  if (type === 'message_start') for (const block of listOf(objectOf(event.message).content)) found.add(block);
  else {
    addUnreadOfBlock(found, event.content_block ?? event.delta, read);
    found.add(event, OF_EVENT);
  }
  return found.last();
}

/** Whether an event has a piece that was read, and nothing else: most are such. */
function isUsual(event: Json, read: readonly StreamPart[]): boolean {
  const { delta, type, index } = event;
  if (!isObject(delta) || type === undefined || index === undefined || delta.type === undefined) return false;
  return sizeOf(delta) === 2 && sizeOf(event) === 3 && areShown(read);
}

function sizeOf(members: Json): number {
  let size = 0;
  for (const _ in members) size++;
  return size;
}
