import { type Gate, overloaded } from '../../access/limits/gate.ts';
import type { ByteHold } from '../../core/byte-room.ts';
import { SignalboxError } from '../../core/errors.ts';
import type { AdmissionPolicy } from '../../core/policy/rate-limit.ts';
import { Watch, type WatchedItem } from './late-watch.ts';

/** The maximum number of connections that one key may hold at once. */
const CONNECTIONS_MAX = 64;
/** A connection is closed after this time without a complete message, in ms, if none of its requests runs. */
const IDLE_MS = 60_000;
/** After a connection ends, Bun keeps an unfinished message for up to 16 seconds if the caller's half stays open. */
const LINGER_MS = 20_000;

export interface SocketLimits {
  readonly gate: Gate;
  /** The maximum size of a message, in bytes. Each connection reserves this much, because the server sees only complete messages. */
  readonly socketBytesMax: number;
}

/** The open WebSockets: how many each key has, how much of the memory for bodies they reserve, and which are idle. State: gate. */
export class Sockets {
  readonly #limits: SocketLimits;
  readonly #policy: () => AdmissionPolicy;
  /** Open connections, and ended connections that may still hold a message. */
  readonly #watch: Watch<SocketPlace>;
  /** The number of connections by key ID, for keys that have any. */
  readonly #held = new Map<string, number>();

  /**
   * @param clock returns milliseconds that never decrease
   * @param policy returns the active policy
   */
  constructor(limits: SocketLimits, clock: () => number, policy: () => AdmissionPolicy) {
    this.#limits = limits;
    this.#policy = policy;
    this.#watch = new Watch(clock);
  }

  /**
   * Takes a slot for a connection, and reserves memory for its largest message. The caller must always leave the slot.
   * @throws SignalboxError `rate_limit_exceeded` if the key holds too many connections, or `overloaded` without memory
   */
  enter(keyId: string): SocketPlace {
    const count = this.#held.get(keyId) ?? 0;
    if (count >= CONNECTIONS_MAX) {
      throw new SignalboxError(
        'rate_limit_exceeded',
        `This API key holds ${count} connections, which is the limit. Close a connection first.`,
      );
    }
    const place = new SocketPlace(this, this.#watch, keyId, this.#limits.gate.roomOf(callerOf(keyId)));
    if (!this.resize(place, 0)) throw overloaded();
    this.#held.set(keyId, count + 1);
    return place;
  }

  /** Reserves memory for this many bytes in addition to the largest message. Only `SocketPlace` calls `resize`. */
  resize({ keyId, room }: SocketPlace, bytes: number): boolean {
    const { gate, socketBytesMax } = this.#limits;
    return gate.resize(room, callerOf(keyId), socketBytesMax + bytes, this.#policy());
  }

  /** Only `SocketPlace` calls `left`. */
  left({ keyId }: SocketPlace): void {
    const rest = this.#held.get(keyId)! - 1;
    if (rest > 0) this.#held.set(keyId, rest);
    else this.#held.delete(keyId);
  }
}

/** The connections of a key count as a caller of their own, so that they cannot take memory that the key's requests need. */
const callerOf = (keyId: string): string => `sockets of ${keyId}`;

/** The slot of a connection among the open connections of its key, with the memory that it reserves (`room`). */
export class SocketPlace implements WatchedItem<SocketPlace> {
  before: SocketPlace | null = null;
  after: SocketPlace | null = null;
  readonly keyId: string;
  /** Only `Sockets` uses the reservation. */
  readonly room: ByteHold;
  readonly #sockets: Sockets;
  readonly #watch: Watch<SocketPlace>;
  /** Ends a connection that is idle for too long; null before it is open. */
  #onLate: (() => void) | null = null;
  /** Since when the connection is idle or has ended, in ms on the watch's clock. */
  #since = 0;
  /** How long the connection may be idle, in ms. */
  #stillMsMax = IDLE_MS;
  #isLeft = false;

  constructor(sockets: Sockets, watch: Watch<SocketPlace>, keyId: string, room: ByteHold) {
    this.#sockets = sockets;
    this.#watch = watch;
    this.keyId = keyId;
    this.room = room;
  }

  /**
   * Marks the connection as open.
   * @param onLate closes it
   */
  open(onLate: () => void): void {
    this.#onLate = onLate;
    this.#since = this.#watch.now();
    this.#watch.add(this);
  }

  /**
   * Marks the start of a request.
   * @param stillMsMax how long the connection may be idle from now on, ms
   */
  serve(stillMsMax: number): void {
    this.#stillMsMax = stillMsMax;
    this.move();
  }

  /** Marks the end of a request. */
  rest(): void {
    this.serve(IDLE_MS);
  }

  /** Marks the connection as active. */
  move(): void {
    this.#since = this.#watch.now();
  }

  /**
   * Reserves memory for all data that the connection remembers.
   * @returns false if there is not enough memory
   */
  remember(bytes: number): boolean {
    return this.#isLeft || this.#sockets.resize(this, bytes);
  }

  /** Leaves the slot. The memory of an unfinished message is released once the message must be gone. Further calls do nothing. */
  leave(): void {
    if (this.#isLeft) return;
    this.remember(0);
    this.#isLeft = true;
    this.#since = this.#watch.now();
    this.#sockets.left(this);
    if (this.#onLate === null) this.room.leave();
  }

  isLate(now: number): boolean {
    return now - this.#since >= (this.#isLeft ? LINGER_MS : this.#stillMsMax);
  }

  cut(): void {
    if (this.#isLeft) {
      this.#watch.remove(this);
      this.room.leave();
    } else this.#onLate?.();
  }
}
