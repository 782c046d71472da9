import { eventFor } from '../admin/use-cases/events.ts';
import { Places } from '../admin/use-cases/places.ts';
import type { Caller } from '../core/people/caller.ts';
import type { EventFeed, PlacedEvent } from './event-feed.ts';
import { Watch, type WatchedItem } from './kit/late-watch.ts';

/** The maximum number of open streams for one user or key, and in total. */
const OWN_MAX = 16;
const ALL_MAX = 512;
const PLACES = {
  own: OWN_MAX,
  all: ALL_MAX,
  ownTaken: `You have ${OWN_MAX} open event streams, which is the limit for one user or key. Close a stream first.`,
  allTaken: `The server has ${ALL_MAX} open event streams, which is its limit. Try again later.`,
} as const;
/**
 * How many events may wait for a slow reader before it is disconnected. The limit is higher than the number of events that the feed keeps
 * for readers that reconnect. All streams share the data of an event.
 */
const WAITING_MAX = 600;
/** The approximate maximum length of one text, in characters. A text ends after the event that reaches this length. */
const TEXT_MAX = 16_384;
const HEARTBEAT_MS = 15_000;
/** The lifetime of a stream. A follower that reconnects is fully admitted again. */
const LIFE_MS = 30 * 60_000;
/** Says after how many ms a browser reconnects, and from which event if it has received none. */
const headOf = (id: string | null): string => `retry: 2000\n${id === null ? '' : `id: ${id}\n`}\n`;

const eventText = (id: string, kind: string, data: object): string =>
  `id: ${id}\nevent: ${kind}\ndata: ${JSON.stringify(data)}\n\n`;

/** The follower of a stream, as admission identified it. */
export interface Follower {
  /** The ID of the user or key that reads the stream. All logins of a user share this ID. */
  readonly holder: string;
  /** Returns the caller with its current terms; null if the caller's login or key has ended. */
  callerNow(): Caller | null;
}

/** The open streams by holder. State: events. */
export class EventStreams {
  readonly #feed: EventFeed;
  readonly #watch: Watch<EventStream>;
  readonly #isDraining: () => boolean;
  readonly #places = new Places(PLACES);

  /** @param clock returns milliseconds that never decrease */
  constructor(feed: EventFeed, clock: () => number, isDraining: () => boolean) {
    this.#feed = feed;
    this.#watch = new Watch(clock);
    this.#isDraining = isDraining;
  }

  /**
   * Opens a stream. The code that opens a stream must always end the stream.
   * @param after the `Last-Event-ID`; null for none
   * @param time ISO 8601, for the event `reset`
   * @throws SignalboxError `rate_limit_exceeded` if the holder has too many streams, or `overloaded`
   */
  open(follower: Follower, after: string | null, time: string): EventStream {
    const leave = this.#places.enter(follower.holder);
    const from = after === null ? this.#feed.last : null;
    const onEnd = () => {
      this.#feed.leave(stream.take);
      this.#watch.remove(stream);
      leave();
    };
    const stream = new EventStream(from, follower, this.#watch.now, this.#isDraining, onEnd);
    this.#watch.add(stream);
    const missed = this.#feed.follow(stream.take, after);
    if (missed === null) stream.reset(this.#feed.last, time);
    else for (const placed of missed) stream.take(placed);
    return stream;
  }
}

/** The part of an event that the caller of a stream may see. */
interface VisibleEvent {
  readonly id: string;
  readonly kind: string;
  readonly data: object;
}

/** A stream with the events that wait for its reader. An event becomes text only when the reader is ready for it. */
export class EventStream implements WatchedItem<EventStream> {
  before: EventStream | null = null;
  after: EventStream | null = null;
  readonly #follower: Follower;
  readonly #onEnd: () => void;
  readonly #isDraining: () => boolean;
  readonly #endsAt: number;
  #caller: Caller | null;
  /** Text to send before the events. */
  #text: string;
  #waiting: VisibleEvent[] = [];
  #wake: PromiseWithResolvers<void> | null = null;
  /** When the last text was sent, in ms on the watch's clock. */
  #toldAt: number;
  isOver = false;

  /** @param from ID of the event after which the stream begins; null if the reader has named one */
  constructor(
    from: string | null,
    follower: Follower,
    clock: () => number,
    isDraining: () => boolean,
    onEnd: () => void,
  ) {
    this.#text = headOf(from);
    this.#follower = follower;
    this.#isDraining = isDraining;
    this.#onEnd = onEnd;
    this.#caller = follower.callerNow();
    this.#toldAt = clock();
    this.#endsAt = this.#toldAt + LIFE_MS;
  }

  readonly take = ({ id, event }: PlacedEvent): void => {
    const data = this.#caller && eventFor(this.#caller, event);
    if (!data || this.isOver) return;
    if (this.#waiting.length < WAITING_MAX) {
      this.#waiting.push({ id, kind: event.kind, data });
      this.#rouse();
      return;
    }
    // The reader will reconnect with the ID of the last event that it has received.
    this.#waiting = [];
    this.end();
  };

  /** Sends an event that says that events may be missing. */
  reset(id: string, time: string): void {
    this.#say(eventText(id, 'reset', { time }));
  }

  /** Returns the waiting text; null at the end; a promise while nothing waits. */
  next(): string | null | Promise<void> {
    let text = this.#text;
    this.#text = '';
    let taken = 0;
    for (const { id, kind, data } of this.#waiting) {
      if (text.length >= TEXT_MAX) break;
      text += eventText(id, kind, data);
      taken++;
    }
    this.#waiting.splice(0, taken);
    if (text !== '') return text;
    if (this.isOver) return null;
    this.#wake ??= Promise.withResolvers();
    return this.#wake.promise;
  }

  /** Ends the stream. Further calls do nothing. */
  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#onEnd();
    this.#rouse();
  }

  /** Checks the follower again, and keeps the connection alive. */
  isLate(now: number): boolean {
    this.#caller = this.#follower.callerNow();
    if (this.#caller === null || now >= this.#endsAt || this.#isDraining()) return true;
    if (now - this.#toldAt >= HEARTBEAT_MS) {
      this.#toldAt = now;
      // A reader with waiting events needs no sign of life.
      if (this.#text === '' && this.#waiting.length === 0) this.#say(':\n\n');
    }
    return false;
  }

  cut(): void {
    this.end();
  }

  #say(text: string): void {
    this.#text += text;
    this.#rouse();
  }

  #rouse(): void {
    this.#wake?.resolve();
    this.#wake = null;
  }
}
