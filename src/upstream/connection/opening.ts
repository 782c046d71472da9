import type { Alarm } from '../alarm.ts';
import { Broken, neverConnected } from '../failures.ts';
import type { Dial, Peer, Peers } from './dial.ts';

export type Opened = { readonly response: Response } | { readonly error: unknown };

/** What is sent beside the body, and until when: times on performance.now's clock, in ms. */
export interface OpeningOptions {
  readonly dial: Dial;
  readonly path: string;
  readonly headers: Headers;
  /** Whether the answer is read as it comes. */
  readonly stream: boolean;
  readonly startedAt: number;
  /** A connection has to stand until then, over all addresses. */
  readonly connectBy: number;
  /** The answer has to begin until then. */
  readonly headBy: number;
}

const encoder = new TextEncoder();

/**
 * Sends one request: to the addresses of its host in turn, until one has a connection for it.
 *
 * fetch does not tell when it has connected, but it asks a stream for its first bytes only then. That costs more than
 * a string, so it is done only where an address has not answered lately.
 */
export class Opening {
  /** False while it is certain that nothing of the request has left this process. */
  sent = false;
  readonly #options: OpeningOptions;
  readonly #alarm: Alarm;
  #controller = new AbortController();
  /** Ends the wait for an address; null when there is none. */
  #stopWaiting: ((error: Broken) => void) | null = null;
  #isConnecting = false;
  #isLate = false;
  #over = false;

  constructor(options: OpeningOptions, alarm: Alarm) {
    this.#options = options;
    this.#alarm = alarm;
  }

  /** The head of the answer, or why there is none. Never rejects. The body, which may be large, is not kept. */
  run(body: string): Promise<Opened> {
    const { dial, startedAt } = this.#options;
    let known: Peers | Promise<Peers>;
    try {
      known = dial.peers(startedAt);
    } catch (error) {
      return Promise.resolve({ error });
    }
    // The usual case waits for nothing but the answer.
    return known instanceof Promise || known.length > 1 ? this.#tryAll(known, body) : this.#try(known[0]!, 1, body);
  }

  async #tryAll(known: Peers | Promise<Peers>, body: string): Promise<Opened> {
    let peers: Peers;
    try {
      peers = known instanceof Promise ? await this.#inTime(known) : known;
    } catch (error) {
      return { error };
    }
    for (let at = 0; ; at++) {
      const opened = await this.#try(peers[at]!, peers.length - at, body);
      const isLast = at + 1 === peers.length || performance.now() >= this.#options.connectBy;
      if ('response' in opened || this.sent || this.#over || isLast) return opened;
    }
  }

  /** Told that the alarm rang. True if it was for a connection, and is dealt with here. */
  ring(): boolean {
    if (this.#stopWaiting) this.#stopWaiting(this.#lateFailure(`no address for \`${this.#options.dial.host}\``));
    else if (this.#isConnecting) {
      this.#isLate = true;
      this.#controller.abort();
    } else return false;
    return true;
  }

  /** Ends the request and its connection, whatever has become of it. */
  abort(): void {
    this.#over = true;
    this.#stopWaiting?.(new Broken('connect', 'given up'));
    this.#controller.abort();
  }

  #inTime(known: Promise<Peers>): Promise<Peers> {
    this.#alarm.set(this.#options.connectBy);
    const late = new Promise<never>((_, reject) => {
      this.#stopWaiting = reject;
    });
    return Promise.race([known, late]).finally(() => {
      this.#stopWaiting = null;
    });
  }

  /** `left`: how many addresses there are, with this one, to share the time to connect. */
  async #try(peer: Peer, left: number, body: string): Promise<Opened> {
    const { dial, path, headers, headBy } = this.#options;
    if (this.#over) return { error: new Broken('connect', 'given up') };
    const now = performance.now();
    const line = this.#options.stream ? dial.line(peer, path) : null;
    // A line tells when it has a connection.
    const isWarm = !line && peer.isWarm(now);
    this.sent = isWarm;
    this.#alarm.set(isWarm ? headBy : now + Math.max(0, this.#options.connectBy - now) / left);
    const { signal } = this.#controller;
    try {
      const response = await (line
        ? line.post({ headers, body, signal, onConnected: this.#onConnected() })
        : dial.post(peer, path, isWarm ? { headers, body, signal } : this.#watched(body, signal)));
      dial.answered(peer, performance.now());
      return { response };
    } catch (error) {
      return { error: this.#failed(error, isWarm) };
    } finally {
      this.#isConnecting = false;
    }
  }

  /** A request that tells when it has a connection. */
  #watched(body: string, signal: AbortSignal): RequestInit {
    const bytes = encoder.encode(body);
    const headers = new Headers(this.#options.headers);
    // Else it would go in chunks, which not every server takes.
    headers.set('content-length', String(bytes.length));
    const connected = this.#onConnected();
    const pull = (sink: ReadableStreamDirectController) => {
      // It may have come too late.
      if (signal.aborted) return sink.close();
      connected();
      sink.write(bytes);
      sink.close();
    };
    // The cheapest of streams: what is written goes on in one piece, with its end.
    return { headers, body: new ReadableStream({ type: 'direct', pull }), signal };
  }

  /** What is to be called once there is a connection: from then on something is sent. */
  #onConnected(): () => void {
    this.#isConnecting = true;
    return () => {
      this.#isConnecting = false;
      this.sent = true;
      this.#alarm.set(this.#options.headBy);
    };
  }

  #failed(error: unknown, isWarm: boolean): unknown {
    // A watched request knows better than any code of the error, and what was ended here has none.
    if (isWarm && !this.#controller.signal.aborted) this.sent = !neverConnected(error);
    if (!this.#isLate) return error;
    this.#isLate = false;
    this.#controller = new AbortController();
    return this.#lateFailure('no connection');
  }

  #lateFailure(what: string): Broken {
    const { startedAt, connectBy } = this.#options;
    return new Broken('connect', `${what} within ${Math.max(0, Math.round(connectBy - startedAt))} ms`);
  }
}
