import type { Json } from '../../plugins/providers/json.ts';
import { waitFor } from './answers.ts';
import type { Signalbox } from './signalbox.ts';

/** A WebSocket client of Responses that collects all events. */
export interface ResponsesSocket {
  readonly events: readonly Json[];
  readonly socket: WebSocket;
  /** The code with which the connection was closed; null while it is open. */
  readonly closed: number | null;
  /** The reason with which the connection was closed. */
  readonly reason: string;
  /** Sends a request. @returns its events up to the end */
  ask(members: object): Promise<readonly Json[]>;
  /** Announces a conversation, or more messages of one. @returns the last event */
  warmUp(input: string, previous?: unknown): Promise<Json>;
}

/** Opens a connection with a key of the server. */
export function openResponses(
  { url }: Pick<Signalbox, 'url'>,
  key: string,
  headers: Readonly<Record<string, string>> = {},
  tls: { readonly rejectUnauthorized?: boolean } = {},
): ResponsesSocket {
  const options = { headers: { authorization: `Bearer ${key}`, ...headers }, tls };
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/v1/responses`, options as never);
  const events: Json[] = [];
  const end = { closed: null as number | null, reason: '' };
  socket.onmessage = ({ data }) => void events.push(JSON.parse(String(data)));
  socket.onclose = ({ code, reason }) => {
    Object.assign(end, { closed: code, reason });
  };
  async function ask(members: object): Promise<readonly Json[]> {
    await waitFor(() => socket.readyState === WebSocket.OPEN);
    const from = events.length;
    socket.send(JSON.stringify({ type: 'response.create', model: 'best', ...members }));
    const isEnd = ({ type }: Json) => /completed|incomplete|failed|^error$/.test(String(type));
    await waitFor(() => end.closed !== null || events.slice(from).some(isEnd));
    return events.slice(from);
  }
  return {
    events,
    socket,
    get closed() {
      return end.closed;
    },
    get reason() {
      return end.reason;
    },
    ask,
    async warmUp(input, previous) {
      const response = previous && Object(Object(previous).response);
      const members = { input, generate: false, ...(response && { previous_response_id: response.id }) };
      return (await ask(members)).at(-1) ?? {};
    },
  };
}
