import type { EventForm } from './surface.ts';

/** Returns an event as text. The name of a server-sent event is its type. */
export const serverSentEvent = (type: string, json: string): string => `event: ${type}\ndata: ${json}\n\n`;

/** Returns the form of server-sent events. The default heartbeat of a stream is a comment. */
export const serverSentEvents = (writer: EventForm['writer'], heartbeat = ': waiting\n\n'): EventForm => ({
  contentType: 'text/event-stream; charset=utf-8',
  heartbeat,
  writer,
});
