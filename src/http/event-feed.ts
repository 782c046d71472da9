import { randomBytes } from 'node:crypto';
import type { FeedEvent } from '../admin/use-cases/events.ts';

/** How many events are kept for followers that reconnect. */
const KEPT_MAX = 500;
/** How long events are kept after the last follower has left, in ms. The follower may reconnect in this time. */
const LINGER_MS = 60_000;

/** An event with its position in the feed. */
export interface PlacedEvent {
  readonly id: string;
  readonly event: FeedEvent;
}

export type EventListener = (placed: PlacedEvent) => void;

/** The events of this server for current followers. If there is no follower, an event costs one comparison. State: events. */
export class EventFeed {
  readonly #now: () => number;
  /** A random name of this process, so that event IDs of other processes are recognised as foreign. */
  readonly #name = randomBytes(6).toString('hex');
  readonly #listeners = new Set<EventListener>();
  /** The latest events, oldest first. */
  #kept: PlacedEvent[] = [];
  /** The number of the latest event. */
  #last = 0;
  /** Until when events are kept without a follower, in ms since 1970. */
  #until = 0;

  /** @param now ms since 1970 */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Sends an event to all followers at once.
   * @param make called only if there is a follower or one may reconnect
   */
  tell(make: () => FeedEvent | null): void {
    if (this.#listeners.size === 0 && this.#until <= this.#now()) this.#miss();
    else this.#place(make());
  }

  /**
   * Follows the events.
   * @param after ID of the last received event; null to start now
   * @returns the events after it, or null if some of them are no longer kept
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

  /** Counts an event that no follower can receive. */
  #miss(): void {
    this.#last++;
    if (this.#kept.length > 0) this.#kept = [];
  }

  #place(event: FeedEvent | null): void {
    if (!event) return;
    this.#last++;
    const placed = { id: this.last, event };
    this.#kept.push(placed);
    // The list is cut only when it is twice too long, because cutting copies it.
    if (this.#kept.length >= 2 * KEPT_MAX) this.#kept = this.#kept.slice(-KEPT_MAX);
    for (const listener of this.#listeners) listener(placed);
  }
}
