import type { Gate } from '../access/limits/gate.ts';
import type { ByteHold } from '../core/byte-room.ts';
import { SignalboxError } from '../core/errors.ts';
import type { AdmissionPolicy } from '../core/rate-limit.ts';

/** Connections that one key may hold at once. */
const CONNECTIONS_MAX = 64;

/** The open WebSockets: how many each key has, and the room that they take of the one for bodies. */
export class Sockets {
  readonly #gate: Gate;
  readonly #policy: () => AdmissionPolicy;
  /** Connections by the ID of their key; only of keys that have some. */
  readonly #held = new Map<string, number>();

  /** @param policy the one in force */
  constructor(gate: Gate, policy: () => AdmissionPolicy) {
    this.#gate = gate;
    this.#policy = policy;
  }

  /**
   * Takes a place for a connection. Leave it in any case.
   * @throws SignalboxError `rate_limit_exceeded` where the key holds too many
   */
  enter(keyId: string): SocketPlace {
    const count = this.#held.get(keyId) ?? 0;
    if (count >= CONNECTIONS_MAX) {
      throw new SignalboxError('rate_limit_exceeded', `This API key holds ${count} connections; close one first.`);
    }
    this.#held.set(keyId, count + 1);
    return new SocketPlace(this, keyId, this.#gate.roomOf(keyId));
  }

  /** For places. */
  resize({ keyId, room }: SocketPlace, bytes: number): boolean {
    return this.#gate.resize(room, keyId, bytes, this.#policy());
  }

  /** For places. */
  left({ keyId }: SocketPlace): void {
    const rest = this.#held.get(keyId)! - 1;
    if (rest > 0) this.#held.set(keyId, rest);
    else this.#held.delete(keyId);
  }
}

/** The place of one connection. */
export class SocketPlace {
  readonly keyId: string;
  /** For the sockets. */
  readonly room: ByteHold;
  readonly #sockets: Sockets;
  #isLeft = false;

  constructor(sockets: Sockets, keyId: string, room: ByteHold) {
    this.#sockets = sockets;
    this.keyId = keyId;
    this.room = room;
  }

  /** Takes room for all that the connection remembers. @returns false where there is none */
  remember(bytes: number): boolean {
    return this.#isLeft || this.#sockets.resize(this, bytes);
  }

  /** Gives all back. Later calls do nothing. */
  leave(): void {
    if (this.#isLeft) return;
    this.#isLeft = true;
    this.room.leave();
    this.#sockets.left(this);
  }
}
