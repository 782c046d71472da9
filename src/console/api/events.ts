import { useEffect } from 'preact/hooks';
import { BASE } from './base.ts';

type Listener = (data: unknown) => void;

/** One connection to `/admin/events` for the whole page, open while the page is seen and something listens. */
class EventFeed {
  readonly #listeners = new Map<string, Set<Listener>>();
  #source: EventSource | null = null;
  /** The last event that came, to go on behind it. The browser sends it by itself only while one connection is tried again. */
  #lastId = '';

  constructor() {
    document.addEventListener('visibilitychange', () => this.#adjust());
  }

  listen(kind: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(kind) ?? new Set();
    if (listeners.size === 0) {
      this.#listeners.set(kind, listeners);
      this.#source?.addEventListener(kind, this.#take);
    }
    listeners.add(listener);
    this.#adjust();
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) {
        this.#listeners.delete(kind);
        this.#source?.removeEventListener(kind, this.#take);
      }
      this.#adjust();
    };
  }

  readonly #take = (event: MessageEvent<unknown>): void => {
    if (event.lastEventId !== '') this.#lastId = event.lastEventId;
    const data = typeof event.data === 'string' ? parsedOrNull(event.data) : null;
    for (const listener of this.#listeners.get(event.type) ?? []) listener(data);
  };

  #adjust(): void {
    const isWanted = this.#listeners.size > 0 && !document.hidden;
    if (!isWanted) {
      this.#source?.close();
      this.#source = null;
      return;
    }
    if (this.#source !== null && this.#source.readyState !== EventSource.CLOSED) return;
    const after = this.#lastId === '' ? '' : `?after=${encodeURIComponent(this.#lastId)}`;
    this.#source = new EventSource(`${BASE}/admin/events${after}`);
    for (const kind of this.#listeners.keys()) this.#source.addEventListener(kind, this.#take);
  }
}

const feed = new EventFeed();

function parsedOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Hears the events of one kind while the component is shown. @param listener kept by the caller: `useCallback` */
export function useEvents(kind: string, listener: Listener): void {
  useEffect(() => feed.listen(kind, listener), [kind, listener]);
}
