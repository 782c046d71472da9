import type { JsonText } from '../../core/json/source.ts';
import type { DeadlineAlarm } from '../alarm.ts';
import { Arrival } from '../arrival.ts';
import { decodedReply } from '../decoded-reply.ts';
import { UpstreamError } from '../failures.ts';
import type { PendingReply, Post, UpstreamReply } from '../reply.ts';
import type { Dial, PeerList } from './dial.ts';

/** A request without its body, and its deadlines in ms of performance.now. */
interface OpeningOptions {
  readonly dial: Dial;
  readonly path: string;
  readonly headers: Headers;
  /** Whether the answer is streamed. */
  readonly stream: boolean;
  readonly startedAt: number;
  /** The deadline for a connection, shared by all addresses. */
  readonly connectBy: number;
  /** The deadline for the head of the answer. */
  readonly headBy: number;
}

const NONE: PeerList = [];

/** Sends one request: `Opening` tries the addresses of the host in turn until one accepts the connection. */
export class Opening implements Post {
  /** False as long as it is certain that no byte of the request was sent. */
  sent = false;
  readonly headers: Headers;
  /** The body of the request; empty once no other address will receive the body, because a body may be large. */
  body: JsonText;
  readonly #options: OpeningOptions;
  readonly #alarm: DeadlineAlarm;
  /** The lookup of the addresses, while it runs. */
  #lookup: Arrival<PeerList> | null = null;
  #peers: PeerList = NONE;
  /** The index of the address that is being tried. */
  #at = 0;
  #pending: PendingReply | null = null;
  #reply: UpstreamReply | null = null;
  /** Ends the wait for an address; null if nothing waits. */
  #stopWaiting: ((error: UpstreamError) => void) | null = null;
  #isConnecting = false;
  /** Whether the deadline has ended the connection attempt. */
  #isLate = false;
  #over = false;

  /** @throws like `reply` if no address is allowed */
  constructor(options: OpeningOptions, body: JsonText, alarm: DeadlineAlarm) {
    this.#options = options;
    this.#alarm = alarm;
    this.headers = options.headers;
    this.body = body;
    const peers = options.dial.peers(options.startedAt);
    if (peers instanceof Promise) this.#lookup = new Arrival(this.#withinDeadline(peers));
    else this.#tryFirst(peers);
  }

  /**
   * Returns the answer, decompressed. Until the head of the answer has arrived, returns a promise; call `reply` again when the promise
   * resolves.
   *
   * @throws the error of the last address
   */
  reply(): UpstreamReply | Promise<void> {
    if (this.#over) throw new UpstreamError('connect', 'given up');
    if (this.#lookup) {
      const peers = this.#lookup.get();
      if (peers instanceof Promise) return peers;
      this.#lookup = null;
      this.#tryFirst(peers);
    }
    for (;;) {
      try {
        const reply = this.#pending!.reply();
        if (reply instanceof Promise) return reply;
        this.#isConnecting = false;
        this.#options.dial.answered(this.#peers[this.#at]!);
        this.#reply = decodedReply(reply, this.#options.dial.decoders);
        return this.#reply;
      } catch (error) {
        const isLast = this.#at + 1 === this.#peers.length || performance.now() >= this.#options.connectBy;
        this.#isConnecting = false;
        if (this.sent || isLast) throw this.#isLate ? this.#lateFailure('no connection') : error;
        this.#isLate = false;
        this.#at++;
        this.#try();
      }
    }
  }

  /** Handles the alarm if it was set for a lookup or a connection; otherwise returns false. */
  ring(): boolean {
    if (this.#stopWaiting) this.#stopWaiting(this.#lateFailure(`no address for \`${this.#options.dial.host}\``));
    else if (this.#isConnecting) {
      this.#isLate = true;
      this.#pending?.abort();
    } else return false;
    return true;
  }

  /** Ends the request and its connection in any state. */
  abort(): void {
    this.#over = true;
    this.body = '';
    this.#stopWaiting?.(new UpstreamError('connect', 'given up'));
    this.#pending?.abort();
    this.#reply?.cancel();
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

  #tryFirst(peers: PeerList): void {
    this.#peers = peers;
    this.#try();
  }

  /** Sends the request to the current address. The remaining addresses share the time that is left to connect. */
  #try(): void {
    const { dial, path, stream, connectBy } = this.#options;
    this.#isConnecting = true;
    this.#pending = dial.post(this.#peers[this.#at]!, path, this, stream);
    if (this.sent) return;
    const now = performance.now();
    this.#alarm.set(now + Math.max(0, connectBy - now) / (this.#peers.length - this.#at));
  }

  /** Once the connection is open, the request counts as sent. */
  onConnected(): void {
    this.#isConnecting = false;
    this.sent = true;
    this.body = '';
    this.#alarm.set(this.#options.headBy);
  }

  #lateFailure(what: string): UpstreamError {
    const { startedAt, connectBy } = this.#options;
    return new UpstreamError('connect', `${what} within ${Math.max(0, Math.round(connectBy - startedAt))} ms`);
  }
}
