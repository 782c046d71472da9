import { Elysia } from 'elysia';
import { SignalboxError } from '../core/errors.ts';
import { type Caller, rootOf } from '../core/people/caller.ts';
import type { AnswerRoute, SocketDialogue, Surface } from '../dialects/surface.ts';
import { routeDocs } from './kit/route-docs.ts';
import { type RouteServices, UNREAD_S } from './kit/route-services.ts';
import type { SocketPlace } from './kit/sockets.ts';

/** Headers of the upgrade that belong to the connection or to a single request, so they are not passed on. */
const OF_CONNECTION =
  /^(?:connection|upgrade|host|content-.*|transfer-encoding|sec-websocket-.*|idempotency-key|payment-signature)$/;

/** The parts of Bun's socket that a connection uses. */
type Socket = Pick<Bun.ServerWebSocket, 'remoteAddress' | 'send' | 'getBufferedAmount' | 'close' | 'terminate'>;

/** A server that upgrades a request to a WebSocket. */
export interface Upgrader {
  upgrade(request: Request, options: { readonly data: Connection }): boolean;
}

/** The WebSocket of a surface. Each text frame is a request with the same checks as a POST, and each event of its answer is a frame. */
export function surfaceSocket(
  services: RouteServices,
  surface: Surface,
  route: AnswerRoute,
  upgrader: () => Upgrader | null,
) {
  const shown = route.docs.events ?? route.docs.answer;
  return new Elysia({ name: `${surface.name} socket` }).get(
    route.path,
    ({ request }) => {
      const dialogue = route.dialogue?.();
      if (!services.gateway.lease().snapshot.gateway.websockets || !dialogue) throw unavailable(route);
      const place = services.sockets.enter(rootOf(services.callerOf(request)));
      const connection = new Connection(services, request, { dialogue, errorBody: surface.errorBody, place });
      if (!upgrader()?.upgrade(request, { data: connection })) {
        place.leave();
        throw unavailable(route);
      }
      return undefined;
    },
    routeDocs({
      access: route.operation,
      tag: surface.dialect,
      summary: 'Open a WebSocket',
      description: `Each text frame is a request as for \`POST ${route.path}\`, with the same checks and limits. Each event of its answer is a frame. One request runs at a time.`,
      answer: {
        status: 101,
        ...('mediaType' in shown && { mediaType: shown.mediaType }),
        schema: shown.schema,
        description: shown.description,
        get example() {
          return shown.example;
        },
      },
      errors: ['insufficient_permissions', 'upgrade_required'],
    }),
  );
}

function unavailable({ path }: AnswerRoute): SignalboxError {
  return new SignalboxError(
    'upgrade_required',
    `A GET at this path must be a WebSocket upgrade. Send requests to ${path} with POST.`,
    {
      headers: { upgrade: 'websocket', connection: 'Upgrade' },
    },
  );
}

/** The dialect of a connection, and its resources on this server. */
interface ConnectionEnds extends Pick<Surface, 'errorBody'> {
  readonly dialogue: SocketDialogue;
  readonly place: SocketPlace;
}

/** How many frames may arrive while a request runs. An additional frame ends the connection. */
const EARLY_FRAMES_MAX = 16;
/** How many pings and pongs may arrive between two messages. Clients send a ping or pong every few seconds, and an answer takes minutes. */
const SIGNS_MAX = 1_000;

/** Close codes of RFC 6455 and its registry. */
const POLICY_VIOLATION = 1008;
const DEFECT = 1011;
const TRY_AGAIN_LATER = 1013;

/** One connection. Elysia's handlers call its methods `open`, `message`, `drain`, `ping`, `pong` and `close`. */
class Connection {
  readonly #services: RouteServices;
  readonly #ends: ConnectionEnds;
  readonly #caller: Caller;
  readonly #url: string;
  readonly #headers: Headers;
  /** Aborts the running request; null if none runs. */
  #running: AbortController | null = null;
  /** How many frames arrived while the request ran. */
  #early = 0;
  /** How many pings and pongs arrived since the last message. */
  #signs = 0;
  /** Resolves when a slow reader has caught up. */
  #drained: PromiseWithResolvers<void> | null = null;

  constructor(services: RouteServices, origin: Request, ends: ConnectionEnds) {
    const { url, headers } = origin;
    this.#caller = services.callerOf(origin);
    this.#ends = ends;
    this.#services = services;
    this.#url = url;
    this.#headers = new Headers([...headers].filter(([name]) => !OF_CONNECTION.test(name)));
    this.#headers.set('content-type', 'application/json');
  }

  open(socket: Socket): void {
    this.#ends.place.open(() => {
      // If the caller does not read its answer, a close frame would have to wait for the answer, so the connection is cut.
      if (this.#running) socket.terminate();
      else socket.close(POLICY_VIOLATION, 'No complete message arrived for 60 seconds.');
    });
  }

  message(socket: Socket, frame: string | Buffer): void {
    const { dialogue, errorBody, place } = this.#ends;
    this.#signs = 0;
    if (this.#running) {
      const busy = new SignalboxError(
        'in_flight',
        'Only one request can run at a time. Wait for the end of the answer.',
      );
      if (++this.#early > EARLY_FRAMES_MAX) socket.close(POLICY_VIOLATION, busy.message);
      else {
        const requestId = this.#services.refuse(this.#caller, { url: this.#url, headers: this.#headers }, busy);
        socket.send(dialogue.error(busy.status, errorBody(busy, requestId), { 'x-request-id': requestId }));
      }
      return;
    }
    const controller = new AbortController();
    this.#running = controller;
    this.#early = 0;
    this.#wait(controller, 0);
    void this.#answer(socket, String(frame), controller)
      .catch(() => socket.close(DEFECT))
      .finally(() => {
        this.#running = null;
        dialogue.end();
        place.rest();
      });
  }

  ping(socket: Socket): void {
    if (++this.#signs > SIGNS_MAX) socket.close(POLICY_VIOLATION, 'Too many pings.');
  }

  pong(socket: Socket): void {
    this.ping(socket);
  }

  /** Called whenever the reader has accepted some of the waiting bytes. */
  drain(socket: Socket): void {
    // Between requests, only messages count as activity.
    if (this.#running) this.#ends.place.move();
    if (socket.getBufferedAmount() === 0) this.#goOn();
  }

  close(): void {
    this.#running?.abort();
    this.#goOn();
    this.#ends.place.leave();
  }

  /**
   * Sets how long the running request may wait for its answer or its reader.
   * @param seconds maximum time without traffic; 0 for no limit
   */
  #wait(running: AbortController, seconds: number): void {
    // A request may end after its answer, when another request already runs.
    if (running === this.#running) this.#ends.place.serve(seconds === 0 ? Number.POSITIVE_INFINITY : seconds * 1_000);
  }

  #goOn(): void {
    this.#drained?.resolve();
    this.#drained = null;
  }

  async #answer(socket: Socket, frame: string, running: AbortController): Promise<void> {
    const { dialogue, place } = this.#ends;
    // The frame is read only after admission, so that a frame over a limit costs no more than a POST over a limit.
    const body = bodyOf(() => dialogue.read(frame));
    const request = new Request(this.#url, { method: 'POST', headers: this.#headers, body, signal: running.signal });
    const timeout = (seconds: number) => this.#wait(running, seconds);
    const response = await this.#services.handle(request, { address: socket.remoteAddress, timeout });
    if (response.status !== 200) {
      timeout(UNREAD_S);
      return await this.#refuse(socket, response);
    }
    const decoder = new TextDecoder();
    let rest = '';
    for await (const bytes of response.body ?? []) {
      const frames = (rest + decoder.decode(bytes, { stream: true })).split('\n\n');
      rest = frames.pop() ?? '';
      for (const event of frames) {
        const data = event.slice(event.indexOf('data: ') + 'data: '.length);
        if (!event.includes('data: ')) continue;
        dialogue.sent(data);
        await this.#send(socket, data);
      }
    }
    // When the connection stores the conversation, the memory of the request itself is already free.
    if (!place.remember(dialogue.bytes))
      socket.close(TRY_AGAIN_LATER, 'The server has no room to remember this conversation.');
  }

  async #refuse(socket: Socket, response: Response): Promise<void> {
    const body: unknown = await response.json();
    const { 'content-type': _, ...headers } = Object.fromEntries(response.headers);
    await this.#send(socket, this.#ends.dialogue.error(response.status, Object(body), headers));
    if (response.status === 401) socket.close(POLICY_VIOLATION, 'The API key is no longer valid.');
  }

  /** Waits for a slow reader. */
  async #send(socket: Socket, text: string): Promise<void> {
    if (socket.send(text) !== -1) return;
    this.#drained ??= Promise.withResolvers();
    await this.#drained.promise;
  }
}

/** A body whose pieces are made when it is read. */
const bodyOf = (pieces: () => readonly Uint8Array[]): ReadableStream<Uint8Array> =>
  new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        for (const piece of pieces()) controller.enqueue(piece);
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
