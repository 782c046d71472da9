import type { EventForm } from './surface.ts';

/** Returns an event as text. The name of the event is its type. */
export const serverSentEvent = (type: string, json: string): string => `event: ${type}\ndata: ${json}\n\n`;

/** Returns the form of server-sent events. The default heartbeat is a comment. */
export const serverSentEvents = (writer: EventForm['writer'], heartbeat = ': waiting\n\n'): EventForm => ({
  contentType: 'text/event-stream; charset=utf-8',
  heartbeat,
  writer,
});
