import { type ByteHold, ByteRoom } from '../core/byte-room.ts';
import { SignalboxError } from '../core/errors.ts';
import type { AdmissionPolicy } from '../core/rate-limit.ts';
import type { BodyHold } from './body.ts';

type Bounds = Pick<AdmissionPolicy, 'concurrencyMax' | 'bodiesBytesMax' | 'queueMax' | 'queueMs'>;

/** The delay that a refused request is told, spread over a second, so that not all return at once. */
const RETRY_MS = 1_000;
const RETRY_SPREAD_MS = 1_000;
/** A body below this rate, on average after its first second, is slow and gives way to others. */
const SLOW_BYTES_PER_SECOND = 65_536;
const SLOW_AFTER_MS = 1_000;

/**
 * Bounds the requests that are worked on at once, and the bytes of their bodies. Requests without a place wait in line,
 * first in, first out, and not for long: an answer after its caller gave up is of no use. Where places or room are short,
 * slow bodies are cut first.
 */
export class Gate {
  #inside = 0;
  /** Of the bodies of all requests, waiting ones included. */
  readonly #room = new ByteRoom();
  /** In the order of their arrival. */
  readonly #line = new Set<Place>();
  /** Places whose body is being read. */
  readonly #reading = new Set<Place>();
  #bounds: Bounds | null = null;

  /** Requests that are worked on. */
  get inside(): number {
    return this.#inside;
  }

  /** Requests that wait. */
  get waiting(): number {
    return this.#line.size;
  }

  /** Bytes of all bodies. */
  get bytes(): number {
    return this.#room.bytes;
  }

  /**
   * Checks whether `enter` would succeed. Changes nothing.
   * @throws SignalboxError `overloaded` without a place, or without room for `bytes` of a body, where no slow body
   * could be cut.
   */
  check(bounds: Bounds, caller: string, bytes: number): void {
    const hasRoom = this.#room.fits(caller, bytes, bounds.bodiesBytesMax) || this.#slowest(caller) !== null;
    const hasPlace = this.#isFree(bounds) || this.#line.size < bounds.queueMax || this.#slowest() !== null;
    if (!hasRoom || !hasPlace) throw overloaded();
  }

  /**
   * Takes a place, or one in the line, with room for `bytes` of a caller's body. Leave it in any case.
   * @throws SignalboxError `overloaded`, as `check` does.
   */
  enter(bounds: Bounds, caller: string, bytes: number): Place {
    this.#bounds = bounds;
    // Under a new policy there may be places for those who wait.
    this.#serve();
    while (!this.#isFree(bounds) && this.#cut(this.#slowest()));
    const isFree = this.#isFree(bounds);
    if (!isFree && this.#line.size >= bounds.queueMax) throw overloaded();
    if (!this.#makeRoom(caller, bytes, bounds)) throw overloaded();
    const place = new Place(this, caller, this.#room.hold(caller));
    place.room.take(bytes, bounds.bodiesBytesMax);
    if (isFree) {
      this.#inside++;
      place.take();
    } else {
      this.#line.add(place);
      place.wait(bounds.queueMs);
    }
    return place;
  }

  /**
   * For places: takes room for more bytes of a body.
   * @throws SignalboxError `overloaded`
   */
  grow({ caller, room }: Place, bytes: number): void {
    const bounds = this.#bounds!;
    if (!this.#makeRoom(caller, bytes, bounds, room.bytes)) throw overloaded(true);
    room.take(bytes, bounds.bodiesBytesMax);
  }

  /** For places. */
  reads(place: Place, isReading: boolean): void {
    if (isReading) this.#reading.add(place);
    else this.#reading.delete(place);
  }

  /** For places: frees one. */
  left(place: Place): void {
    place.room.leave();
    this.#reading.delete(place);
    if (this.#line.delete(place)) return;
    this.#inside--;
    this.#serve();
  }

  #isFree({ concurrencyMax }: Bounds): boolean {
    return this.#line.size === 0 && this.#inside < concurrencyMax;
  }

  /** Returns whether a caller has room for more bytes, after cutting slow bodies. `own`: bytes of the asking body. */
  #makeRoom(caller: string, bytes: number, { bodiesBytesMax }: Bounds, own = 0): boolean {
    while (!this.#room.fits(caller, bytes, bodiesBytesMax, own)) {
      if (!this.#cut(this.#slowest(caller))) return false;
    }
    return true;
  }

  /**
   * Returns the slowest of the slow bodies; null where none is slow. With a caller, only bodies whose end gives it room, of
   * callers who hold no less than it does.
   */
  #slowest(caller: string | null = null): Place | null {
    const now = performance.now();
    const held = caller === null ? 0 : this.#room.of(caller);
    let slowest: Place | null = null;
    let least = SLOW_BYTES_PER_SECOND;
    for (const place of this.#reading) {
      const rate = place.bytesPerSecond(now);
      if (rate >= least) continue;
      if (caller !== null && (place.room.bytes === 0 || this.#room.of(place.caller) < held)) continue;
      slowest = place;
      least = rate;
    }
    return slowest;
  }

  #cut(place: Place | null): boolean {
    place?.cut();
    return place !== null;
  }

  #serve(): void {
    for (const place of this.#line) {
      if (this.#bounds && this.#inside >= this.#bounds.concurrencyMax) return;
      this.#line.delete(place);
      this.#inside++;
      place.take();
    }
  }
}

/** A place among the requests that are worked on, or in the line, with the room of the request's body. */
export class Place implements BodyHold {
  readonly caller: string;
  /** The bytes of its body. For the gate. */
  readonly room: ByteHold;
  readonly #gate: Gate;
  #isLeft = false;
  #turn: { readonly promise: Promise<void>; resolve(): void; reject(error: SignalboxError): void } | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #readSince = 0;
  #came = 0;
  #onCut: () => void = () => {};

  constructor(gate: Gate, caller: string, room: ByteHold) {
    this.#gate = gate;
    this.caller = caller;
    this.room = room;
  }

  /** Null once the request may go on; else resolves when it may, or rejects with SignalboxError `overloaded`. */
  get turn(): Promise<void> | null {
    return this.#turn?.promise ?? null;
  }

  /** Frees the place. Later calls do nothing. */
  leave(): void {
    if (this.#isLeft) return;
    this.#isLeft = true;
    this.#end()?.reject(overloaded());
    this.#gate.left(this);
  }

  begin(onCut: () => void): void {
    this.#readSince = performance.now();
    this.#onCut = onCut;
    if (!this.#isLeft) this.#gate.reads(this, true);
  }

  grow(bytes: number): void {
    if (this.#isLeft) return;
    this.#gate.grow(this, bytes);
    this.#came += bytes;
  }

  end(): void {
    this.#gate.reads(this, false);
  }

  /** For the gate. The rate of its body; infinite in its first second. */
  bytesPerSecond(now: number): number {
    const ms = now - this.#readSince;
    return ms < SLOW_AFTER_MS ? Number.POSITIVE_INFINITY : (this.#came * 1_000) / ms;
  }

  /** For the gate. Stops waiting for its body. */
  cut(): void {
    this.leave();
    this.#onCut();
  }

  /** For the gate. */
  take(): void {
    this.#end()?.resolve();
  }

  /** For the gate. */
  wait(ms: number): void {
    this.#turn = Promise.withResolvers<void>();
    // A rejection is for those who wait, and there may be none yet.
    this.#turn.promise.catch(() => {});
    this.#timer = setTimeout(() => this.leave(), ms);
  }

  #end() {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    return this.#turn;
  }
}

/** `midway`: the rest of its body may still come, so the connection cannot be used again. */
function overloaded(midway = false): SignalboxError {
  return new SignalboxError('overloaded', 'This gateway has more requests than it can work on; try again.', {
    retryAfterMs: RETRY_MS + Math.floor(Math.random() * RETRY_SPREAD_MS),
    ...(midway && { headers: { connection: 'close' } }),
  });
}
