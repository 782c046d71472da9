import type { Socket } from 'bun';
import type { Signalbox } from './signalbox.ts';

/** A connection whose bytes nothing reads after the first ones. */
export interface Deaf {
  readonly socket: Socket;
  /** The first bytes of the answer; '' before they arrive. */
  start: string;
}

export async function connect(
  at: Signalbox,
  reads: 'first bytes' | 'all',
  onStart: () => void = () => {},
): Promise<Deaf> {
  const { hostname, port } = new URL(at.url);
  const deaf = { start: '' };
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      data(own, bytes) {
        if (deaf.start === '') {
          deaf.start = bytes.toString().slice(0, 12);
          onStart();
        }
        if (reads === 'first bytes') own.pause();
      },
    },
  });
  return Object.assign(deaf, { socket });
}

/** Returns the text of a chat request on a connection of its own. */
export function requestText(at: Signalbox, sent: object, more: readonly string[] = []): string {
  const body = JSON.stringify(sent);
  const head = ['POST /v1/chat/completions HTTP/1.1', 'host: localhost', 'content-type: application/json'];
  head.push(`authorization: Bearer ${at.key}`, ...more, `content-length: ${body.length}`);
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

export const statusesOf = (all: readonly Deaf[]) => all.map(({ start }) => start.slice('HTTP/1.1 '.length)).sort();
export const isAnswered = ({ start }: Deaf) => start !== '';
export const end = (all: readonly Deaf[]) => {
  for (const { socket } of all) socket.terminate();
};
