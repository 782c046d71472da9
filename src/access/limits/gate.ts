import { type ByteHold, ByteRoom } from '../../core/byte-room.ts';
import { SignalboxError } from '../../core/errors.ts';
import type { AdmissionPolicy } from '../../core/rate-limit.ts';
import type { Timer, Timers } from '../../core/timers.ts';
import { processTimers } from '../../host/telemetry/process-timers.ts';

type Bounds = Pick<AdmissionPolicy, 'concurrencyMax' | 'bodiesBytesMax' | 'queueMax' | 'queueMs'>;

/** The `retry-after` of a refused request, spread over a second, so that not all return at once. */
const RETRY_MS = 1_000;
const RETRY_SPREAD_MS = 1_000;
/** A body below this rate, on average after its first second, is slow and gives way to others. */
const SLOW_BYTES_PER_SECOND = 65_536;
const SLOW_AFTER_MS = 1_000;
/** A body that announces no more takes its room at once, and is then read in one piece: half the cost of pieces. */
const SMALL_BYTES = 65_536;
/** The same while places and room are plenty, so that nobody has to give way. */
const MEDIUM_BYTES = 1_048_576;
/** Bytes of the bodies of one room together, and of one caller there, whose only body may be larger. */
interface RoomBounds {
  readonly bytesMax: number;
  readonly callerBytesMax?: number;
}
/**
 * The rooms of bodies. `callers`: of requests with a key or a login. `strangers`: of those with neither, by address. `unproven`: of those
 * whose token is still checked, by address; many programs behind one address may get new tokens at once.
 */
export type BodyRoom = 'callers' | 'strangers' | 'unproven';
const STRANGERS: RoomBounds = { bytesMax: 16_777_216, callerBytesMax: 65_536 };
const UNPROVEN: RoomBounds = { bytesMax: 16_777_216 };
/** The share of the places that is kept for callers who hold less than it. */
const RESERVE = 0.1;

/**
 * Bounds the requests that are worked on at once, and the bytes of their bodies. Requests without a place wait in line,
 * first in, first out, and not for long: an answer after its caller gave up is of no use. Where places or room are short,
 * slow bodies are cut first. Bodies of strangers have a room of their own, so that they cannot starve callers. State: gate.
 */
export class Gate {
  /** For places. */
  readonly now: () => number;
  /** For places. */
  readonly timers: Timers;
  #inside = 0;
  /** Places by caller; callers without one are absent. */
  readonly #insideOf = new Map<string, number>();
  /** Of all bodies, those of waiting requests included. */
  readonly #rooms: Readonly<Record<BodyRoom, ByteRoom>> = {
    callers: new ByteRoom(),
    strangers: new ByteRoom(),
    unproven: new ByteRoom(),
  };
  /** In the order of their arrival. */
  readonly #line = new Set<GatePlace>();
  /** Places whose body is being read. */
  readonly #reading = new Set<GatePlace>();
  #bounds: Bounds | null = null;

  /** @param now milliseconds that never decrease. */
  constructor(now: () => number, timers: Timers = processTimers) {
    this.now = now;
    this.timers = timers;
  }

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
    const { callers, strangers, unproven } = this.#rooms;
    return callers.bytes + strangers.bytes + unproven.bytes;
  }

  /** Returns the bytes of a body that take room before they arrive: all of it, or none. @param announced 0 for unknown */
  bytesAtOnce({ concurrencyMax, bodiesBytesMax }: Bounds, announced: number): number {
    const isPlenty = 2 * this.#inside < concurrencyMax && 2 * (this.#rooms.callers.bytes + announced) <= bodiesBytesMax;
    return announced <= (isPlenty ? MEDIUM_BYTES : SMALL_BYTES) ? announced : 0;
  }

  /**
   * Checks whether `enter` would succeed. Changes nothing.
   * @throws SignalboxError `overloaded` without a place, or without room for `bytes` of a body, where no slow body
   * could be cut.
   */
  check(bounds: Bounds, caller: string, bytes: number, of: BodyRoom = 'callers'): void {
    const hasPlace = this.#isFree(bounds, caller) || this.#line.size < bounds.queueMax || this.#slowest() !== null;
    const room = this.#rooms[of];
    const { bytesMax, callerBytesMax } = this.#boundsOf(room, bounds);
    const hasRoom = room.fits(caller, bytes, bytesMax, 0, callerBytesMax) || this.#slowest(room, caller) !== null;
    if (!hasPlace || !hasRoom) throw overloaded();
  }

  /**
   * Takes a place, or one in the line, with room for `bytes` of a caller's body, by `bytesAtOnce`. Leave it in any case.
   * @param of the room; a caller without a key or a login is named by its address
   * @throws SignalboxError `overloaded`, as `check` does.
   */
  enter(bounds: Bounds, caller: string, bytes: number, of: BodyRoom = 'callers'): GatePlace {
    this.#bounds = bounds;
    // Under a new policy there may be places for those who wait.
    this.#serve();
    let isFree = this.#isFree(bounds, caller);
    while (!isFree && this.#cut(this.#slowest())) isFree = this.#isFree(bounds, caller);
    if (!isFree && this.#line.size >= bounds.queueMax) throw overloaded();
    const place = this.#placeOf(bounds, caller, bytes, of, true);
    if (isFree) this.#admit(place);
    else {
      this.#line.add(place);
      place.wait(bounds.queueMs);
    }
    return place;
  }

  /**
   * Takes room for `bytes` of a body, by `bytesAtOnce`, for a request that counts as none of those at once. Leave it in any case.
   * @throws SignalboxError `overloaded`, where there is no room.
   */
  enterBody(bounds: Bounds, caller: string, bytes: number, of: BodyRoom = 'callers'): GatePlace {
    this.#bounds = bounds;
    return this.#placeOf(bounds, caller, bytes, of, false);
  }

  /**
   * For places: takes room for more bytes of a body.
   * @throws SignalboxError `overloaded`
   */
  grow({ caller, room }: GatePlace, bytes: number): void {
    if (!this.#takeRoom(room, caller, bytes, this.#bounds!)) throw overloaded(true);
  }

  /** Room of a caller that outlives its requests, empty at first. Leave it in any case. */
  roomOf(caller: string): ByteHold {
    return this.#rooms.callers.hold(caller);
  }

  /**
   * Changes the bytes of such room. Even alone it gets half of all at most: it may stay, and others need some.
   * @returns false where there is no room; nothing changes then
   */
  resize(room: ByteHold, caller: string, bytes: number, bounds: Bounds): boolean {
    const more = bytes - room.bytes;
    return (more <= 0 || 2 * bytes <= bounds.bodiesBytesMax) && this.#takeRoom(room, caller, more, bounds);
  }

  /** For places. */
  reads(place: GatePlace, isReading: boolean): void {
    if (isReading) this.#reading.add(place);
    else this.#reading.delete(place);
  }

  /** For places: frees one. */
  left(place: GatePlace): void {
    place.room.leave();
    this.#reading.delete(place);
    if (!place.isCounted) return;
    if (this.#line.size > 0 && this.#line.delete(place)) return;
    const left = this.#insideOf.get(place.caller)! - 1;
    if (left > 0) this.#insideOf.set(place.caller, left);
    else this.#insideOf.delete(place.caller);
    this.#inside--;
    this.#serve();
  }

  #placeOf(bounds: Bounds, caller: string, bytes: number, of: BodyRoom, isCounted: boolean): GatePlace {
    const room = this.#rooms[of].hold(caller);
    if (!this.#takeRoom(room, caller, bytes, bounds)) throw overloaded();
    return new GatePlace(this, caller, room, bytes, isCounted);
  }

  #boundsOf(room: ByteRoom, { bodiesBytesMax }: Bounds): RoomBounds {
    if (room === this.#rooms.strangers) return STRANGERS;
    return room === this.#rooms.unproven ? UNPROVEN : { bytesMax: bodiesBytesMax };
  }

  #admit(place: GatePlace): void {
    this.#inside++;
    this.#insideOf.set(place.caller, (this.#insideOf.get(place.caller) ?? 0) + 1);
  }

  /**
   * Returns whether a new request gets a place at once. A place of the reserve may go to it before the line, whose callers may
   * have no right to the reserve.
   */
  #isFree(bounds: Bounds, caller: string): boolean {
    const isReserve = bounds.concurrencyMax - this.#inside <= reserveOf(bounds);
    return isReserve ? this.#mayEnter(bounds, caller) : this.#line.size === 0;
  }

  /** Returns whether there is a place for a caller. Without this share, streams of one caller could keep all others out. */
  #mayEnter(bounds: Bounds, caller: string): boolean {
    const free = bounds.concurrencyMax - this.#inside;
    const reserve = reserveOf(bounds);
    return free > reserve || (free > 0 && (reserve === 0 || (this.#insideOf.get(caller) ?? 0) < reserve));
  }

  /** Takes room for more bytes of a body, after cutting slow ones; returns false where it is the slowest itself, or none is slow. */
  #takeRoom(hold: ByteHold, caller: string, bytes: number, bounds: Bounds): boolean {
    const { bytesMax, callerBytesMax } = this.#boundsOf(hold.room, bounds);
    while (!hold.take(bytes, bytesMax, callerBytesMax)) {
      const slowest = this.#slowest(hold.room, caller);
      if (slowest === null || slowest.room === hold) return false;
      slowest.cut();
    }
    return true;
  }

  /**
   * Returns the slowest of the slow bodies; null where none is slow. For a caller that needs room, only bodies that have some of
   * it, of callers who hold no less than it does; otherwise only bodies whose end frees a place.
   */
  #slowest(room: ByteRoom | null = null, caller = ''): GatePlace | null {
    const now = this.now();
    const held = room?.of(caller) ?? 0;
    let slowest: GatePlace | null = null;
    let least = SLOW_BYTES_PER_SECOND;
    for (const place of this.#reading) {
      const rate = place.bytesPerSecond(now);
      if (rate >= least) continue;
      if (room === null ? !place.isCounted : !givesRoom(place, room, held)) continue;
      slowest = place;
      least = rate;
    }
    return slowest;
  }

  #cut(place: GatePlace | null): boolean {
    place?.cut();
    return place !== null;
  }

  #serve(): void {
    if (this.#line.size === 0) return;
    const bounds = this.#bounds;
    for (const place of this.#line) {
      if (!bounds || this.#inside >= bounds.concurrencyMax) return;
      if (!this.#mayEnter(bounds, place.caller)) continue;
      this.#line.delete(place);
      this.#admit(place);
      place.take();
    }
  }
}

/** Whether the end of a body gives room to a caller that holds `held` bytes, and whose body is no smaller. */
const givesRoom = ({ room, caller }: GatePlace, sought: ByteRoom, held: number): boolean =>
  room.room === sought && room.bytes > 0 && sought.of(caller) >= held;

const reserveOf = ({ concurrencyMax }: Bounds): number => Math.floor(concurrencyMax * RESERVE);

/** A body that is being read. */
interface OpenBody {
  cut(): void;
}

/** A place among the requests that are worked on, or in the line, with the room of the request's body; or that room alone. */
export class GatePlace {
  readonly caller: string;
  /** The bytes of its body. For the gate. */
  readonly room: ByteHold;
  /** The bytes that took room before they arrived. */
  readonly bytesAtOnce: number;
  /** Whether it counts as one of the requests at once. */
  readonly isCounted: boolean;
  readonly #gate: Gate;
  #isLeft = false;
  #turn: { readonly promise: Promise<void>; resolve(): void; reject(error: SignalboxError): void } | null = null;
  #timer: Timer | null = null;
  #readSince = 0;
  #body: OpenBody | null = null;

  constructor(gate: Gate, caller: string, room: ByteHold, bytesAtOnce: number, isCounted: boolean) {
    this.isCounted = isCounted;
    this.#gate = gate;
    this.caller = caller;
    this.room = room;
    this.bytesAtOnce = bytesAtOnce;
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

  /** Begins to read the body. Cuts it when it is slow and others need its room. */
  begin(body: OpenBody): void {
    this.#readSince = this.#gate.now();
    this.#body = body;
    if (!this.#isLeft) this.#gate.reads(this, true);
  }

  /**
   * Takes room for bytes that have arrived.
   * @throws SignalboxError `overloaded` where there is none.
   */
  grow(bytes: number): void {
    if (this.#isLeft) return;
    this.#gate.grow(this, bytes);
  }

  /** Ends the reading, complete or not. */
  end(): void {
    this.#body = null;
    this.#gate.reads(this, false);
  }

  /** For the gate. The rate of its body, one at once taken to have arrived; infinite in its first second. */
  bytesPerSecond(now: number): number {
    const ms = now - this.#readSince;
    return ms < SLOW_AFTER_MS ? Number.POSITIVE_INFINITY : (this.room.bytes * 1_000) / ms;
  }

  /** For the gate. Stops waiting for its body. */
  cut(): void {
    this.leave();
    this.#body?.cut();
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
    this.#timer = this.#gate.timers.after(ms, () => this.leave());
  }

  #end() {
    this.#timer?.close();
    this.#timer = null;
    return this.#turn;
  }
}

/** `midway`: the rest of its body may still come, so the connection cannot be used again. */
export function overloaded(midway = false): SignalboxError {
  return new SignalboxError('overloaded', 'The server has more requests than it can handle; try again.', {
    retryAfterMs: RETRY_MS + Math.floor(Math.random() * RETRY_SPREAD_MS),
    ...(midway && { headers: { connection: 'close' } }),
  });
}
