import { eventFor } from '../admin/use-cases/events.ts';
import { Places } from '../admin/use-cases/places.ts';
import type { Caller } from '../core/caller.ts';
import type { EventFeed, PlacedEvent } from './event-feed.ts';
import { Watch, type WatchedItem } from './late-watch.ts';

/** Streams of one user or key at once, and of all together. */
const OWN_MAX = 16;
const ALL_MAX = 512;
const PLACES = {
  own: OWN_MAX,
  all: ALL_MAX,
  ownTaken: `You follow the events ${OWN_MAX} times, which is the limit for one user or key. Close a stream first.`,
  allTaken: `${ALL_MAX} streams follow the events, which is the limit of the server. Try again later.`,
} as const;
/** Events that may wait for a slow reader, which is cut beyond: more than the feed keeps for readers who come back. All streams share the data of an event. */
const WAITING_MAX = 600;
/** Characters of a text, about: it ends with the event that reaches them. */
const TEXT_MAX = 16_384;
const HEARTBEAT_MS = 15_000;
/** The life of a stream: whoever follows comes back through the whole admission. */
const LIFE_MS = 30 * 60_000;
/** How soon a browser comes back, and behind which event where none has come until then; it keeps an ID of its own. */
const headOf = (id: string | null): string => `retry: 2000\n${id === null ? '' : `id: ${id}\n`}\n`;

const eventText = (id: string, kind: string, data: object): string =>
  `id: ${id}\nevent: ${kind}\ndata: ${JSON.stringify(data)}\n\n`;

/** Who follows, as admission has found it. */
export interface Follower {
  /** The ID of its user or key, which all its logins share. */
  readonly holder: string;
  /** The caller as it is now; null once its login or key has ended. */
  callerNow(): Caller | null;
}

/** The streams that are open, by their holder. State: events. */
export class EventStreams {
  readonly #feed: EventFeed;
  readonly #watch: Watch<EventStream>;
  readonly #isDraining: () => boolean;
  readonly #places = new Places(PLACES);

  /** @param clock ms that never decrease */
  constructor(feed: EventFeed, clock: () => number, isDraining: () => boolean) {
    this.#feed = feed;
    this.#watch = new Watch(clock);
    this.#isDraining = isDraining;
  }

  /**
   * Opens a stream; end it in any case.
   * @param after the `Last-Event-ID`; null for none
   * @param time ISO 8601, for the event `reset`
   * @throws SignalboxError `rate_limit_exceeded` where its holder has too many, `overloaded`
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

/** An event as the caller of a stream may see it. */
interface VisibleEvent {
  readonly id: string;
  readonly kind: string;
  readonly data: object;
}

/** One stream: what waits for its reader. An event becomes text only when the reader is ready for it. */
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
  /** The last text, ms on the clock of the watch. */
  #toldAt: number;
  isOver = false;

  /** @param from ID of the event that it begins behind; null where its reader has said one */
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
    // The reader comes back with the ID of the last event that it has received.
    this.#waiting = [];
    this.end();
  };

  /** Says that events may be missing. */
  reset(id: string, time: string): void {
    this.#say(eventText(id, 'reset', { time }));
  }

  /** Returns text of what waits; null at the end; a promise while there is nothing. */
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

  /** Ends it. Later calls do nothing. */
  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#onEnd();
    this.#rouse();
  }

  /** Asks again who follows, and keeps the connection awake. */
  isLate(now: number): boolean {
    this.#caller = this.#follower.callerNow();
    if (this.#caller === null || now >= this.#endsAt || this.#isDraining()) return true;
    if (now - this.#toldAt >= HEARTBEAT_MS) {
      this.#toldAt = now;
      // A reader that is behind needs no sign of life.
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
