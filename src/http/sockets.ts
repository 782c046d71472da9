import { type Gate, overloaded } from '../access/limits/gate.ts';
import type { ByteHold } from '../core/byte-room.ts';
import { SignalboxError } from '../core/errors.ts';
import type { AdmissionPolicy } from '../core/rate-limit.ts';
import { Watch, type WatchedItem } from './late-watch.ts';

/** Connections that one key may hold at once. */
const CONNECTIONS_MAX = 64;
/** A connection that completes no message for so long, while no request of it runs, is closed, ms. */
const IDLE_MS = 60_000;
/** Bun keeps an unfinished message for up to 16 seconds after the end of its connection, where the caller's half stays open. */
const LINGER_MS = 20_000;

export interface SocketLimits {
  readonly gate: Gate;
  /** Bytes of the largest message, which may lie there unfinished: the server shows only whole ones. */
  readonly socketBytesMax: number;
}

/**
 * The open WebSockets: how many each key has, the room that they take of the one for bodies, and which stand still.
 * State: gate.
 */
export class Sockets {
  readonly #limits: SocketLimits;
  readonly #policy: () => AdmissionPolicy;
  /** Open ones, and those that have ended and may still hold a message. */
  readonly #watch: Watch<SocketPlace>;
  /** Connections by the ID of their key; only of keys that have some. */
  readonly #held = new Map<string, number>();

  /**
   * @param clock milliseconds that never decrease
   * @param policy the one in force
   */
  constructor(limits: SocketLimits, clock: () => number, policy: () => AdmissionPolicy) {
    this.#limits = limits;
    this.#policy = policy;
    this.#watch = new Watch(clock);
  }

  /**
   * Takes a place for a connection, with room for its largest message. Leave it in any case.
   * @throws SignalboxError `rate_limit_exceeded` where the key holds too many, or `overloaded` without room
   */
  enter(keyId: string): SocketPlace {
    const count = this.#held.get(keyId) ?? 0;
    if (count >= CONNECTIONS_MAX) {
      throw new SignalboxError('rate_limit_exceeded', `This API key holds ${count} connections; close one first.`);
    }
    const place = new SocketPlace(this, this.#watch, keyId, this.#limits.gate.roomOf(callerOf(keyId)));
    if (!this.resize(place, 0)) throw overloaded();
    this.#held.set(keyId, count + 1);
    return place;
  }

  /** For places: takes room for so many bytes beside the largest message. */
  resize({ keyId, room }: SocketPlace, bytes: number): boolean {
    const { gate, socketBytesMax } = this.#limits;
    return gate.resize(room, callerOf(keyId), socketBytesMax + bytes, this.#policy());
  }

  /** For places. */
  left({ keyId }: SocketPlace): void {
    const rest = this.#held.get(keyId)! - 1;
    if (rest > 0) this.#held.set(keyId, rest);
    else this.#held.delete(keyId);
  }
}

/** The connections of a key are a caller of their own in the room: they take none that its requests need. */
const callerOf = (keyId: string): string => `sockets of ${keyId}`;

/** The place of one connection. */
export class SocketPlace implements WatchedItem<SocketPlace> {
  before: SocketPlace | null = null;
  after: SocketPlace | null = null;
  readonly keyId: string;
  /** For the sockets. */
  readonly room: ByteHold;
  readonly #sockets: Sockets;
  readonly #watch: Watch<SocketPlace>;
  /** Ends a connection that stands still for too long; null before it is open. */
  #onLate: (() => void) | null = null;
  /** Since when it stands still, or has ended; ms on the clock of the watch. */
  #since = 0;
  /** How long it may stand still, ms. */
  #stillMsMax = IDLE_MS;
  #isLeft = false;

  constructor(sockets: Sockets, watch: Watch<SocketPlace>, keyId: string, room: ByteHold) {
    this.#sockets = sockets;
    this.#watch = watch;
    this.keyId = keyId;
    this.room = room;
  }

  /** Notes that the connection is open. @param onLate closes it */
  open(onLate: () => void): void {
    this.#onLate = onLate;
    this.#since = this.#watch.now();
    this.#watch.add(this);
  }

  /** Notes that a request is under way. @param stillMsMax how long the connection may stand still from now on, ms */
  serve(stillMsMax: number): void {
    this.#stillMsMax = stillMsMax;
    this.move();
  }

  /** Notes that no request is under way. */
  rest(): void {
    this.serve(IDLE_MS);
  }

  /** Notes that the connection does not stand still. */
  move(): void {
    this.#since = this.#watch.now();
  }

  /** Takes room for all that the connection remembers. @returns false where there is none */
  remember(bytes: number): boolean {
    return this.#isLeft || this.#sockets.resize(this, bytes);
  }

  /** Ends it. The room of an unfinished message is given back once the message must be gone. Later calls do nothing. */
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
