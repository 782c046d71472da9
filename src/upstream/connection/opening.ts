import type { DeadlineAlarm } from '../alarm.ts';
import { neverConnected, UpstreamError } from '../failures.ts';
import type { Dial, Peer, PeerList } from './dial.ts';

/** The head of an answer, or the error that prevented it. */
export type OpeningResult = { readonly response: Response } | { readonly error: unknown };

/** A request except its body, and its deadlines: ms on performance.now's clock. */
export interface OpeningOptions {
  readonly dial: Dial;
  readonly path: string;
  readonly headers: Headers;
  /** Whether the answer is streamed. */
  readonly stream: boolean;
  readonly startedAt: number;
  /** Deadline for a connection, over all addresses. */
  readonly connectBy: number;
  /** Deadline for the head of the answer. */
  readonly headBy: number;
}

const encoder = new TextEncoder();

/**
 * Sends one request to the addresses of its host in turn, until one accepts the connection.
 *
 * fetch does not report when it has connected, but it pulls a streamed body only then. A streamed body costs more than
 * a string, so it is used only for an address that has not answered lately.
 */
export class Opening {
  /** False while it is certain that no byte of the request was sent. */
  sent = false;
  readonly #options: OpeningOptions;
  readonly #alarm: DeadlineAlarm;
  #controller = new AbortController();
  /** Ends the wait for an address; null when there is none. */
  #stopWaiting: ((error: UpstreamError) => void) | null = null;
  #isConnecting = false;
  #isLate = false;
  #over = false;

  constructor(options: OpeningOptions, alarm: DeadlineAlarm) {
    this.#options = options;
    this.#alarm = alarm;
  }

  /** Sends the request. Never rejects. Keeps no reference to `body`, which may be large. */
  run(body: string): Promise<OpeningResult> {
    const { dial, startedAt } = this.#options;
    let resolved: PeerList | Promise<PeerList>;
    try {
      resolved = dial.peers(startedAt);
    } catch (error) {
      return Promise.resolve({ error });
    }
    // The usual case waits only for the answer.
    return resolved instanceof Promise || resolved.length > 1
      ? this.#tryAll(resolved, body)
      : this.#try(resolved[0]!, 1, body);
  }

  async #tryAll(resolved: PeerList | Promise<PeerList>, body: string): Promise<OpeningResult> {
    let peers: PeerList;
    try {
      peers = resolved instanceof Promise ? await this.#withinDeadline(resolved) : resolved;
    } catch (error) {
      return { error };
    }
    for (let at = 0; ; at++) {
      const opened = await this.#try(peers[at]!, peers.length - at, body);
      const isLast = at + 1 === peers.length || performance.now() >= this.#options.connectBy;
      if ('response' in opened || this.sent || this.#over || isLast) return opened;
    }
  }

  /** Handles the alarm if it was for a lookup or a connection; otherwise returns false. */
  ring(): boolean {
    if (this.#stopWaiting) this.#stopWaiting(this.#lateFailure(`no address for \`${this.#options.dial.host}\``));
    else if (this.#isConnecting) {
      this.#isLate = true;
      this.#controller.abort();
    } else return false;
    return true;
  }

  /** Ends the request and its connection, in any state. */
  abort(): void {
    this.#over = true;
    this.#stopWaiting?.(new UpstreamError('connect', 'given up'));
    this.#controller.abort();
  }

  #withinDeadline(resolved: Promise<PeerList>): Promise<PeerList> {
    this.#alarm.set(this.#options.connectBy);
    const deadline = new Promise<never>((_, reject) => {
      this.#stopWaiting = reject;
    });
    return Promise.race([resolved, deadline]).finally(() => {
      this.#stopWaiting = null;
    });
  }

  /** @param left the addresses, including this one, that share the time to connect */
  async #try(peer: Peer, left: number, body: string): Promise<OpeningResult> {
    const { dial, path, headers, headBy } = this.#options;
    if (this.#over) return { error: new UpstreamError('connect', 'given up') };
    const now = performance.now();
    const sender = this.#options.stream ? dial.sender(peer, path) : null;
    // A sender reports when it has a connection.
    const isWarm = !sender && peer.isWarm(now);
    this.sent = isWarm;
    this.#alarm.set(isWarm ? headBy : now + Math.max(0, this.#options.connectBy - now) / left);
    const { signal } = this.#controller;
    try {
      const response = await (sender
        ? sender.post({ headers, body, signal, onConnected: this.#onConnected() })
        : dial.post(peer, path, isWarm ? { headers, body, signal } : this.#tracked(body, signal)));
      dial.answered(peer, performance.now());
      return { response };
    } catch (error) {
      return { error: this.#errorOf(error, isWarm) };
    } finally {
      this.#isConnecting = false;
    }
  }

  /** A fetch request that reports when it has a connection. */
  #tracked(body: string, signal: AbortSignal): RequestInit {
    const bytes = encoder.encode(body);
    const headers = new Headers(this.#options.headers);
    // Without it the body would be chunked, which some servers refuse.
    headers.set('content-length', String(bytes.length));
    const connected = this.#onConnected();
    const pull = (sink: ReadableStreamDirectController) => {
      if (signal.aborted) return sink.close();
      connected();
      sink.write(bytes);
      sink.close();
    };
    // The cheapest kind of stream: one write carries the whole body and its end.
    return { headers, body: new ReadableStream({ type: 'direct', pull }), signal };
  }

  /** Returns the callback for an established connection: from then on the request counts as sent. */
  #onConnected(): () => void {
    this.#isConnecting = true;
    return () => {
      this.#isConnecting = false;
      this.sent = true;
      this.#alarm.set(this.#options.headBy);
    };
  }

  #errorOf(error: unknown, isWarm: boolean): unknown {
    // A tracked request knows better than any error code, and a request aborted here has no code.
    if (isWarm && !this.#controller.signal.aborted) this.sent = !neverConnected(error);
    if (!this.#isLate) return error;
    this.#isLate = false;
    this.#controller = new AbortController();
    return this.#lateFailure('no connection');
  }

  #lateFailure(what: string): UpstreamError {
    const { startedAt, connectBy } = this.#options;
    return new UpstreamError('connect', `${what} within ${Math.max(0, Math.round(connectBy - startedAt))} ms`);
  }
}
