import { type ByteHold, ByteRoom } from '../../core/byte-room.ts';
import { SignalboxError } from '../../core/errors.ts';
import type { AdmissionPolicy } from '../../core/policy/rate-limit.ts';
import type { Timer, Timers } from '../../core/time/timers.ts';
import { processTimers } from '../../host/telemetry/process-timers.ts';

type Bounds = Pick<AdmissionPolicy, 'concurrencyMax' | 'bodiesBytesMax' | 'queueMax' | 'queueMs'>;

/** The `retry-after` of refused requests is spread over this time, ms, so that clients do not all return at once. */
const RETRY_MS = 1_000;
const RETRY_SPREAD_MS = 1_000;
/**
 * A body that arrives more slowly than this rate (bytes per second), on average after its first second, counts as slow. Slow bodies are cut
 * first when others need their memory.
 */
const SLOW_BYTES_PER_SECOND = 65_536;
const SLOW_AFTER_MS = 1_000;
/**
 * A body that announces at most this size reserves its memory at once and is read in one piece, which costs half as much as reading in
 * pieces.
 */
const SMALL_BYTES = 65_536;
/** The limit of `SMALL_BYTES` while there are enough slots and memory, so that no other request suffers. */
const MEDIUM_BYTES = 1_048_576;
/**
 * A room is memory that the bodies of many callers share: its most bytes, and the most bytes of one caller. The only body of a caller may
 * be larger.
 */
interface RoomBounds {
  readonly bytesMax: number;
  readonly callerBytesMax?: number;
}
/**
 * The room whose memory a body uses. `callers`: requests with a key or a login. `strangers`: requests with neither, by address. `unproven`:
 * requests whose token is still being checked, by address; many programs at the same address may get new tokens at once.
 */
export type BodyRoom = 'callers' | 'strangers' | 'unproven';
const STRANGERS: RoomBounds = { bytesMax: 16_777_216, callerBytesMax: 65_536 };
const UNPROVEN: RoomBounds = { bytesMax: 16_777_216 };
/** The share of the slots that is reserved for callers who use less than this share. */
const RESERVE = 0.1;

/**
 * Limits how many requests run at the same time, and the bytes of their bodies. A request without a slot waits in a queue, first in, first
 * out, for a limited time, because an answer is useless after its caller gave up. If slots or memory are short, slow bodies are cut first.
 * Bodies of strangers have their own memory limit, so that strangers cannot block callers. State: gate.
 */
export class Gate {
  /** For `GatePlace`. */
  readonly now: () => number;
  /** For `GatePlace`. */
  readonly timers: Timers;
  #inside = 0;
  /** The number of slots by caller. Callers without a slot are absent. */
  readonly #insideOf = new Map<string, number>();
  /** The bytes of all bodies, including the bodies of waiting requests. */
  readonly #rooms: Readonly<Record<BodyRoom, ByteRoom>> = {
    callers: new ByteRoom(),
    strangers: new ByteRoom(),
    unproven: new ByteRoom(),
  };
  /** Waiting requests in the order of their arrival. */
  readonly #line = new Set<GatePlace>();
  /** Slots whose body is being read. */
  readonly #reading = new Set<GatePlace>();
  #bounds: Bounds | null = null;

  /** @param now milliseconds that never decrease */
  constructor(now: () => number, timers: Timers = processTimers) {
    this.now = now;
    this.timers = timers;
  }

  /** The number of running requests. */
  get inside(): number {
    return this.#inside;
  }

  /** The number of waiting requests. */
  get waiting(): number {
    return this.#line.size;
  }

  /** The bytes of all bodies. */
  get bytes(): number {
    const { callers, strangers, unproven } = this.#rooms;
    return callers.bytes + strangers.bytes + unproven.bytes;
  }

  /** Returns how many bytes of a body are reserved before they arrive: all or none. @param announced 0 for unknown */
  bytesAtOnce({ concurrencyMax, bodiesBytesMax }: Bounds, announced: number): number {
    const isPlenty = 2 * this.#inside < concurrencyMax && 2 * (this.#rooms.callers.bytes + announced) <= bodiesBytesMax;
    return announced <= (isPlenty ? MEDIUM_BYTES : SMALL_BYTES) ? announced : 0;
  }

  /**
   * Checks whether `enter` would succeed. Changes nothing.
   * @throws SignalboxError `overloaded` if there is no slot, or no memory for `bytes` of a body and no slow body that could be cut
   */
  check(bounds: Bounds, caller: string, bytes: number, of: BodyRoom = 'callers'): void {
    const hasPlace = this.#isFree(bounds, caller) || this.#line.size < bounds.queueMax || this.#slowest() !== null;
    const room = this.#rooms[of];
    const { bytesMax, callerBytesMax } = this.#boundsOf(room, bounds);
    const hasRoom = room.fits(caller, bytes, bytesMax, 0, callerBytesMax) || this.#slowest(room, caller) !== null;
    if (!hasPlace || !hasRoom) throw overloaded();
  }

  /**
   * Takes a slot, or a position in the queue, and reserves `bytes` of memory for the caller's body, as `bytesAtOnce` says. The request must
   * always leave the gate, even after an error.
   * @param of the room; a caller without a key or a login is named by its address
   * @throws SignalboxError `overloaded` like `check`
   */
  enter(bounds: Bounds, caller: string, bytes: number, of: BodyRoom = 'callers'): GatePlace {
    this.#bounds = bounds;
    // A new policy may have added slots for the waiting requests.
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
   * Reserves `bytes` of memory for a body, as `bytesAtOnce` says, for a request that needs no slot. The request must always release the
   * memory, even after an error.
   * @throws SignalboxError `overloaded` if there is no memory
   */
  enterBody(bounds: Bounds, caller: string, bytes: number, of: BodyRoom = 'callers'): GatePlace {
    this.#bounds = bounds;
    return this.#placeOf(bounds, caller, bytes, of, false);
  }

  /**
   * For `GatePlace`: reserves more bytes for a body.
   * @throws SignalboxError `overloaded`
   */
  grow({ caller, room }: GatePlace, bytes: number): void {
    if (!this.#takeRoom(room, caller, bytes, this.#bounds!)) throw overloaded(true);
  }

  /**
   * Returns a memory reservation of a caller that can outlive its requests. A new reservation is empty. The code that creates the
   * reservation must release it with `leave`, even after an error.
   */
  roomOf(caller: string): ByteHold {
    return this.#rooms.callers.hold(caller);
  }

  /**
   * Changes the bytes of such a reservation. The reservation gets at most half of all memory, even if no other caller needs any, because
   * the reservation may last while other callers arrive.
   * @returns false if there is not enough memory; nothing changes then
   */
  resize(room: ByteHold, caller: string, bytes: number, bounds: Bounds): boolean {
    const more = bytes - room.bytes;
    return (more <= 0 || 2 * bytes <= bounds.bodiesBytesMax) && this.#takeRoom(room, caller, more, bounds);
  }

  /** For `GatePlace`. */
  reads(place: GatePlace, isReading: boolean): void {
    if (isReading) this.#reading.add(place);
    else this.#reading.delete(place);
  }

  /** For `GatePlace`: frees a slot. */
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
   * Returns whether a new request gets a slot at once. A reserved slot may go to the request before waiting requests whose callers have no
   * right to the reserve.
   */
  #isFree(bounds: Bounds, caller: string): boolean {
    const isReserve = bounds.concurrencyMax - this.#inside <= reserveOf(bounds);
    return isReserve ? this.#mayEnter(bounds, caller) : this.#line.size === 0;
  }

  /** Returns whether there is a slot for a caller. Without the reserve, the streams of one caller could keep all others out. */
  #mayEnter(bounds: Bounds, caller: string): boolean {
    const free = bounds.concurrencyMax - this.#inside;
    const reserve = reserveOf(bounds);
    return free > reserve || (free > 0 && (reserve === 0 || (this.#insideOf.get(caller) ?? 0) < reserve));
  }

  /**
   * Reserves more bytes for a body, after cutting slow bodies. Returns false if the body that needs memory is itself the slowest body, or
   * if no body is slow.
   */
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
   * Returns the slowest of the slow bodies; null if none is slow. If a caller needs memory, considers only bodies that use the same memory
   * limit and whose callers use at least as much as this caller. If no caller needs memory, considers only bodies whose end frees a slot.
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

/** Whether cutting a body gives memory to a caller that holds `held` bytes: the body's caller must hold at least as much. */
const givesRoom = ({ room, caller }: GatePlace, sought: ByteRoom, held: number): boolean =>
  room.room === sought && room.bytes > 0 && sought.of(caller) >= held;

const reserveOf = ({ concurrencyMax }: Bounds): number => Math.floor(concurrencyMax * RESERVE);

/** A body that is being read. */
interface OpenBody {
  cut(): void;
}

/** The share of the gate that a request occupies: a slot or a position in the queue, and the memory of its body; or only that memory. */
export class GatePlace {
  readonly caller: string;
  /** The bytes of the body. For the gate. */
  readonly room: ByteHold;
  /** The bytes that were reserved before they arrived. */
  readonly bytesAtOnce: number;
  /** Whether the request counts as one of the running requests. */
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

  /**
   * Null if the request may continue. If the request must wait, the promise resolves when the request may continue, or rejects with
   * SignalboxError `overloaded`.
   */
  get turn(): Promise<void> | null {
    return this.#turn?.promise ?? null;
  }

  /** Frees the slot. Further calls do nothing. */
  leave(): void {
    if (this.#isLeft) return;
    this.#isLeft = true;
    this.#end()?.reject(overloaded());
    this.#gate.left(this);
  }

  /** Starts to read the body. The gate cuts the body if it is slow and others need its memory. */
  begin(body: OpenBody): void {
    this.#readSince = this.#gate.now();
    this.#body = body;
    if (!this.#isLeft) this.#gate.reads(this, true);
  }

  /**
   * Reserves memory for bytes that have arrived.
   * @throws SignalboxError `overloaded` if there is not enough memory
   */
  grow(bytes: number): void {
    if (this.#isLeft) return;
    this.#gate.grow(this, bytes);
  }

  /** Ends the reading of the body, complete or not. */
  end(): void {
    this.#body = null;
    this.#gate.reads(this, false);
  }

  /** For the gate. The rate of the body; a body read in one piece counts as arrived. Infinite in the first second. */
  bytesPerSecond(now: number): number {
    const ms = now - this.#readSince;
    return ms < SLOW_AFTER_MS ? Number.POSITIVE_INFINITY : (this.room.bytes * 1_000) / ms;
  }

  /** For the gate. Stops waiting for the body. */
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
    // The request may not be waiting for the promise of its turn yet, and an unhandled rejection would be reported.
    this.#turn.promise.catch(() => {});
    this.#timer = this.#gate.timers.after(ms, () => this.leave());
  }

  #end() {
    this.#timer?.close();
    this.#timer = null;
    return this.#turn;
  }
}

/** `midway`: the rest of the body may still arrive, so the connection cannot be used again. */
export function overloaded(midway = false): SignalboxError {
  return new SignalboxError('overloaded', 'The server has more requests than it can handle. Try again.', {
    retryAfterMs: RETRY_MS + Math.floor(Math.random() * RETRY_SPREAD_MS),
    ...(midway && { headers: { connection: 'close' } }),
  });
}
