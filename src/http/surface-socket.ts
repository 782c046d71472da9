import { Elysia } from 'elysia';
import { SignalboxError } from '../core/errors.ts';
import type { SocketDialogue, SocketTurn, Surface } from '../surface/surface.ts';
import { routeDocs } from './docs/route-docs.ts';
import type { RouteServices } from './route-services.ts';

/** Headers of the upgrade that belong to the connection, or to a single request. */
const OF_CONNECTION =
  /^(?:connection|upgrade|host|content-.*|transfer-encoding|sec-websocket-.*|idempotency-key|payment-signature)$/;

/** Connections that one key may hold at once. */
const CONNECTIONS_MAX = 64;

/** The socket of a connection, as Bun has it. */
interface Socket {
  readonly remoteAddress: string;
  /** @returns -1 where the text waits for its reader, 0 where the connection is gone */
  send(text: string): number;
  close(code?: number, reason?: string): void;
}

/** The handlers that Elysia's own calls. */
interface SocketHandlers {
  open(socket: Socket): void;
  message(socket: Socket, frame: string | Buffer): void;
  drain(): void;
  close(): void;
}

/** A server that makes a connection of a request. */
export interface Upgrader {
  upgrade(request: Request, options: { readonly data: SocketHandlers }): boolean;
}

/**
 * The WebSocket of a surface at its path: each frame is a request, which goes through the whole edge as by POST, and each
 * event of its answer is a frame.
 */
export function surfaceSocket(services: RouteServices, surface: Surface, upgrader: () => Upgrader | null) {
  /** Connections by the ID of their key; only of keys that have some. */
  const held = new Map<string, number>();
  return new Elysia({ name: `${surface.name} socket` }).get(
    surface.path,
    ({ request }) => {
      const dialogue = surface.dialogue?.();
      if (!services.gateway.lease().snapshot.gateway.websockets || !dialogue) throw unavailable(surface);
      const { keyId } = services.callerOf(request);
      const count = held.get(keyId) ?? 0;
      if (count >= CONNECTIONS_MAX) {
        throw new SignalboxError('rate_limit_exceeded', `This API key holds ${count} connections; close one first.`);
      }
      const onClose = () => {
        const rest = (held.get(keyId) ?? 1) - 1;
        if (rest > 0) held.set(keyId, rest);
        else held.delete(keyId);
      };
      const connection = new Connection(services, request, dialogue, { errorBody: surface.errorBody, onClose });
      if (!upgrader()?.upgrade(request, { data: connection })) throw unavailable(surface);
      held.set(keyId, count + 1);
      return undefined;
    },
    routeDocs({
      access: surface.operation,
      tag: 'chat',
      summary: 'Open a WebSocket',
      description: `Each text frame is a request of \`POST ${surface.path}\`, and each event of its answer a frame. One request runs at a time.`,
      answer: { ...(surface.docs.events ?? surface.docs.answer), status: 101 },
      errors: ['insufficient_permissions', 'upgrade_required'],
    }),
  );
}

function unavailable({ path }: Surface): SignalboxError {
  return new SignalboxError('upgrade_required', `Send requests to ${path} by POST.`, {
    headers: { upgrade: 'websocket', connection: 'Upgrade' },
  });
}

interface ConnectionEnds extends Pick<Surface, 'errorBody'> {
  onClose(): void;
}

class Connection implements SocketHandlers {
  readonly #services: RouteServices;
  readonly #dialogue: SocketDialogue;
  readonly #ends: ConnectionEnds;
  readonly #url: string;
  readonly #headers: Headers;
  /** Ends the request under way; null for none. */
  #running: AbortController | null = null;
  /** Settles once a slow reader has caught up. */
  #drained: PromiseWithResolvers<void> | null = null;

  constructor(services: RouteServices, { url, headers }: Request, dialogue: SocketDialogue, ends: ConnectionEnds) {
    this.#ends = ends;
    this.#services = services;
    this.#dialogue = dialogue;
    this.#url = url;
    this.#headers = new Headers([...headers].filter(([name]) => !OF_CONNECTION.test(name)));
    this.#headers.set('content-type', 'application/json');
  }

  open(): void {}

  message(socket: Socket, frame: string | Buffer): void {
    if (this.#running) {
      const busy = new SignalboxError('in_flight', 'One request at a time: wait for the end of the answer.');
      socket.send(this.#dialogue.error(busy.status, this.#ends.errorBody(busy)));
      return;
    }
    const controller = new AbortController();
    this.#running = controller;
    void this.#answer(socket, String(frame), controller.signal)
      .catch(() => socket.close(1011))
      .finally(() => {
        this.#running = null;
      });
  }

  drain(): void {
    this.#drained?.resolve();
    this.#drained = null;
  }

  close(): void {
    this.#running?.abort();
    this.drain();
    this.#ends.onClose();
  }

  async #answer(socket: Socket, frame: string, signal: AbortSignal): Promise<void> {
    const turn = this.#turn(frame);
    if ('frames' in turn) {
      for (const text of turn.frames) await this.#send(socket, text);
      return;
    }
    const { body } = turn;
    const request = new Request(this.#url, { method: 'POST', headers: this.#headers, body, signal });
    const response = await this.#services.handle(request, socket.remoteAddress);
    if (response.status !== 200) {
      const reply: unknown = await response.json();
      await this.#send(socket, this.#dialogue.error(response.status, Object(reply)));
      return;
    }
    const decoder = new TextDecoder();
    let rest = '';
    for await (const bytes of response.body ?? []) {
      const frames = (rest + decoder.decode(bytes, { stream: true })).split('\n\n');
      rest = frames.pop() ?? '';
      for (const event of frames) {
        const data = event.slice(event.indexOf('data: ') + 'data: '.length);
        if (!event.includes('data: ')) continue;
        this.#dialogue.sent(data);
        await this.#send(socket, data);
      }
    }
  }

  #turn(frame: string): SocketTurn {
    try {
      return this.#dialogue.read(frame, Math.floor(this.#services.gateway.now() / 1_000));
    } catch (error) {
      if (!(error instanceof SignalboxError)) throw error;
      return { frames: [this.#dialogue.error(error.status, this.#ends.errorBody(error))] };
    }
  }

  /** Waits for a reader that is behind. */
  async #send(socket: Socket, text: string): Promise<void> {
    if (socket.send(text) !== -1) return;
    this.#drained ??= Promise.withResolvers();
    await this.#drained.promise;
  }
}
