import type { DeadlineAlarm } from '../alarm.ts';
import { UpstreamError } from '../failures.ts';
import type { PendingReply, UpstreamReply } from '../reply.ts';
import type { Dial, Peer, PeerList } from './dial.ts';

/** An answer that has begun, or the error that prevented it. */
export type OpeningResult = { readonly reply: UpstreamReply } | { readonly error: unknown };

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

/** Sends one request to the addresses of its host in turn, until one accepts the connection. */
export class Opening {
  /** False while it is certain that no byte of the request was sent. */
  sent = false;
  readonly #options: OpeningOptions;
  readonly #alarm: DeadlineAlarm;
  #pending: PendingReply | null = null;
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
      if ('reply' in opened || this.sent || this.#over || isLast) return opened;
    }
  }

  /** Handles the alarm if it was for a lookup or a connection; otherwise returns false. */
  ring(): boolean {
    if (this.#stopWaiting) this.#stopWaiting(this.#lateFailure(`no address for \`${this.#options.dial.host}\``));
    else if (this.#isConnecting) {
      this.#isLate = true;
      this.#pending?.abort();
    } else return false;
    return true;
  }

  /** Ends the request and its connection, in any state. */
  abort(): void {
    this.#over = true;
    this.#stopWaiting?.(new UpstreamError('connect', 'given up'));
    this.#pending?.abort();
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
    const { dial, path, headers, stream, connectBy } = this.#options;
    if (this.#over) return { error: new UpstreamError('connect', 'given up') };
    const now = performance.now();
    this.#alarm.set(now + Math.max(0, connectBy - now) / left);
    this.#isConnecting = true;
    try {
      this.#pending = dial.post(peer, path, { headers, body, onConnected: () => this.#connected() }, stream);
      const reply = await this.#pending.head;
      dial.answered(peer);
      return { reply };
    } catch (error) {
      if (!this.#isLate) return { error };
      this.#isLate = false;
      return { error: this.#lateFailure('no connection') };
    } finally {
      this.#isConnecting = false;
    }
  }

  /** From now on the request counts as sent. */
  #connected(): void {
    this.#isConnecting = false;
    this.sent = true;
    this.#alarm.set(this.#options.headBy);
  }

  #lateFailure(what: string): UpstreamError {
    const { startedAt, connectBy } = this.#options;
    return new UpstreamError('connect', `${what} within ${Math.max(0, Math.round(connectBy - startedAt))} ms`);
  }
}
