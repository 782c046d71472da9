import { type ByteHold, ByteRoom } from '../core/byte-room.ts';
import { SignalboxError } from '../core/errors.ts';
import type { AdmissionPolicy } from '../core/rate-limit.ts';
import type { BodyHold } from './body.ts';

type Bounds = Pick<AdmissionPolicy, 'concurrencyMax' | 'bodiesBytesMax' | 'queueMax' | 'queueMs'>;

/** When those who were sent away may come back: spread over a second, so that they do not all come at once. */
const RETRY_MS = 1_000;
const RETRY_SPREAD_MS = 1_000;
/** A body that comes more slowly, on average and after its first second, gives way to others. */
const SLOW_BYTES_PER_SECOND = 65_536;
const SLOW_AFTER_MS = 1_000;

/**
 * Bounds how many requests are worked on at once, and the bytes of their bodies. Who finds no place waits in line, first
 * in, first out, and not for long: a request that is answered after its caller gave up was worked on for nobody. Where
 * room is short, bodies that come slowly are cut first.
 */
export class Gate {
  #inside = 0;
  /** Of the bodies of all that hold a place or wait for one. */
  readonly #room = new ByteRoom();
  /** In the order of their coming. */
  readonly #line = new Set<Place>();
  /** Those whose body is being read. */
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
   * Throws SignalboxError `overloaded` when a caller finds neither a place nor room in the line, or no room for `bytes`
   * of a body, and nobody gives way. Changes nothing.
   */
  check(bounds: Bounds, caller: string, bytes: number): void {
    const hasRoom = this.#room.fits(caller, bytes, bounds.bodiesBytesMax) || this.#slowest(caller) !== null;
    const hasPlace = this.#isFree(bounds) || this.#line.size < bounds.queueMax || this.#slowest() !== null;
    if (!hasRoom || !hasPlace) throw overloaded();
  }

  /**
   * Takes a place, or one in the line, with room for `bytes` of a caller's body. To be left in any case. Throws as `check`
   * does.
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

  /** For places: more bytes of a body have come. Throws SignalboxError `overloaded`. */
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

  /** For places: one is given back. */
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

  /** Whether there is room for more bytes of a caller, after slow bodies have given way. `own`: what the asking one has. */
  #makeRoom(caller: string, bytes: number, { bodiesBytesMax }: Bounds, own = 0): boolean {
    while (!this.#room.fits(caller, bytes, bodiesBytesMax, own)) {
      if (!this.#cut(this.#slowest(caller))) return false;
    }
    return true;
  }

  /**
   * The slowest of the slow bodies, null where none is slow. With a caller only those whose end gives it room: nobody gives
   * way to a caller who holds more.
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

/** A place among those who are worked on, or in the line for one, and the room that its request's body takes. */
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

  /** Null once it is there; else resolves when it is, or rejects with SignalboxError `overloaded`. */
  get turn(): Promise<void> | null {
    return this.#turn?.promise ?? null;
  }

  /** Gives it back. Harmless when that was done. */
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

  /** For the gate. How fast its body comes; infinite in its first second. */
  bytesPerSecond(now: number): number {
    const ms = now - this.#readSince;
    return ms < SLOW_AFTER_MS ? Number.POSITIVE_INFINITY : (this.#came * 1_000) / ms;
  }

  /** For the gate. Its body is not waited for any longer. */
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
    // Whoever waits for it hears of it; nobody may be waiting yet.
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
