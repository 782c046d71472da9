import type { StreamPart, UnreadOutput } from 'signalbox/plugin';
import { isObject, type Json, listOf, objectOf } from '../json.ts';
import { areShown, OutputFound } from '../unread.ts';

/** Members of a block or a piece of it whose content is in other parts. */
const READ: ReadonlySet<string> = new Set(['text', 'thinking', 'partial_json', 'name', 'input']);
const OF_EVENT: ReadonlySet<string> = new Set(['content_block', 'delta']);
/** Events that contain no output. An event of an unknown type may contain output. */
const WITHOUT: ReadonlySet<string> = new Set(['message_delta', 'content_block_stop', 'ping', 'message_stop', 'error']);

/** Adds the output of a block that no other part contains: blocks of the provider's own tools, citations, signatures. */
export function addUnreadOfBlock(found: OutputFound, block: unknown, read: readonly StreamPart[]): void {
  found.add(block, areShown(read) ? READ : undefined);
}

/** Returns the output of an event that no other part contains. */
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

/** Whether an event contains one piece that was read and nothing else, as most events do. */
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
