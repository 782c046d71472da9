import type { EventForm } from './surface.ts';

/** Returns an event as text; its name is its type. */
export const serverSentEvent = (type: string, json: string): string => `event: ${type}\ndata: ${json}\n\n`;

/** Server-sent events. The heartbeat is a comment unless stated. */
export const serverSentEvents = (writer: EventForm['writer'], heartbeat = ': waiting\n\n'): EventForm => ({
  contentType: 'text/event-stream; charset=utf-8',
  heartbeat,
  writer,
});
