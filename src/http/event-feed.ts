import { randomBytes } from 'node:crypto';
import type { FeedEvent } from '../admin/use-cases/events.ts';

/** Events that are kept for those who come back. */
const KEPT_MAX = 500;
/** How long events are kept after the last follower has gone, ms: time to come back in. */
const LINGER_MS = 60_000;

/** An event in its place. */
export interface PlacedEvent {
  readonly id: string;
  readonly event: FeedEvent;
}

export type EventListener = (placed: PlacedEvent) => void;

/** The events of this instance, for those who follow them now. While nobody does, an event costs one comparison. State: events. */
export class EventFeed {
  readonly #now: () => number;
  /** Another one for each process: the IDs of others lead to no event of this one. */
  readonly #name = randomBytes(6).toString('hex');
  readonly #listeners = new Set<EventListener>();
  /** The last ones, oldest first. */
  #kept: PlacedEvent[] = [];
  /** The number of the last event. */
  #last = 0;
  /** Until when events are kept without a follower, ms since 1970. */
  #until = 0;

  /** @param now ms since 1970 */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Tells all followers, at once.
   * @param make called only where somebody follows, or may come back
   */
  tell(make: () => FeedEvent | null): void {
    if (this.#listeners.size === 0 && this.#until <= this.#now()) this.#miss();
    else this.#place(make());
  }

  /**
   * Follows the events.
   * @param after ID of the last event that was received; null: from now on
   * @returns the events since, or null where some are not kept any more
   */
  follow(listener: EventListener, after: string | null): readonly PlacedEvent[] | null {
    this.#listeners.add(listener);
    if (after === null) return [];
    const [name, text = ''] = after.split('-');
    const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    const behind = this.#last - number;
    return name === this.#name && behind >= 0 && behind <= Math.min(this.#kept.length, KEPT_MAX)
      ? this.#kept.slice(this.#kept.length - behind)
      : null;
  }

  leave(listener: EventListener): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size === 0) this.#until = this.#now() + LINGER_MS;
  }

  /** The ID of the last event. */
  get last(): string {
    return `${this.#name}-${this.#last}`;
  }

  /** Notes that there was an event which nobody can have. */
  #miss(): void {
    this.#last++;
    if (this.#kept.length > 0) this.#kept = [];
  }

  #place(event: FeedEvent | null): void {
    if (!event) return;
    this.#last++;
    const placed = { id: this.last, event };
    this.#kept.push(placed);
    // Seldom, so that it costs little.
    if (this.#kept.length >= 2 * KEPT_MAX) this.#kept = this.#kept.slice(-KEPT_MAX);
    for (const listener of this.#listeners) listener(placed);
  }
}
