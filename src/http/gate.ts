import { SignalboxError } from '../core/errors.ts';
import type { AdmissionPolicy } from '../core/rate-limit.ts';

type Bounds = Pick<AdmissionPolicy, 'concurrencyMax' | 'bodiesBytesMax' | 'queueMax' | 'queueMs'>;

/** When those who were sent away may come back: spread over a second, so that they do not all come at once. */
const RETRY_MS = 1_000;
const RETRY_SPREAD_MS = 1_000;

/**
 * Bounds how many requests are worked on at once. Who finds no place waits in line, first in, first out, and not
 * for long: a request that is answered after its caller gave up was worked on for nobody.
 */
export class Gate {
  #inside = 0;
  /** Bytes of the bodies of all that hold a place or wait for one: read, or yet to come. */
  #bytes = 0;
  /** In the order of their coming. */
  readonly #line = new Set<Place>();
  #most = 0;

  /** Requests that are worked on. */
  get inside(): number {
    return this.#inside;
  }

  /** Requests that wait. */
  get waiting(): number {
    return this.#line.size;
  }

  /**
   * Throws SignalboxError `overloaded` when there is neither a place nor room in the line, or no room for a body of so
   * many bytes; one alone always has room. Changes nothing.
   */
  check({ concurrencyMax, bodiesBytesMax, queueMax }: Bounds, bytes: number): void {
    if (this.#bytes > 0 && this.#bytes + bytes > bodiesBytesMax) throw overloaded();
    const isFree = this.#line.size === 0 && this.#inside < concurrencyMax;
    if (!isFree && this.#line.size >= queueMax) throw overloaded();
  }

  /** Takes a place, or one in the line. To be left in any case. Throws as `check` does. */
  enter(bounds: Bounds, bytes: number): Place {
    this.#most = bounds.concurrencyMax;
    // Under a new policy there may be places for those who wait.
    this.#serve();
    this.check(bounds, bytes);
    const place = new Place(bytes, this.#leave);
    this.#bytes += bytes;
    if (this.#line.size === 0 && this.#inside < this.#most) {
      this.#inside++;
      place.take();
    } else {
      this.#line.add(place);
      place.wait(bounds.queueMs);
    }
    return place;
  }

  readonly #leave = (place: Place): void => {
    this.#bytes -= place.bytes;
    if (this.#line.delete(place)) return;
    this.#inside--;
    this.#serve();
  };

  #serve(): void {
    for (const place of this.#line) {
      if (this.#inside >= this.#most) return;
      this.#line.delete(place);
      this.#inside++;
      place.take();
    }
  }
}

/** A place among those who are worked on, or in the line for one. */
export class Place {
  /** Of its request's body. */
  readonly bytes: number;
  readonly #leave: (place: Place) => void;
  #isLeft = false;
  #turn: { readonly promise: Promise<void>; resolve(): void; reject(error: SignalboxError): void } | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(bytes: number, leave: (place: Place) => void) {
    this.bytes = bytes;
    this.#leave = leave;
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
    this.#leave(this);
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

function overloaded(): SignalboxError {
  return new SignalboxError('overloaded', 'This gateway has more requests than it can work on; try again.', {
    retryAfterMs: RETRY_MS + Math.floor(Math.random() * RETRY_SPREAD_MS),
  });
}
