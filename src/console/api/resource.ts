import { type Signal, signal } from '@preact/signals';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type Query, queryText } from './base.ts';
import { forgetAnswers, read } from './client.ts';
import type { ApiFailure } from './failure.ts';
import type { ReadOf, ReadPath } from './reads.ts';

/** The latest response of one address. The data stay while the component reads them again, and also if the new read fails. */
export interface Resource<T> {
  readonly data: T | null;
  /** The failure of the last read; null if the read succeeded. */
  readonly failure: ApiFailure | null;
  readonly isLoading: boolean;
  /** When the data were read, in ms since 1970; null without data. */
  readonly at: number | null;
  /** Reads the data again. */
  renew(): void;
}

/** A cached response younger than this, in ms, is used without another request. */
const FRESH_MS = 5_000;
/** How often a visible page reads its figures again, in ms. */
export const RENEWAL_MS = 10_000;
const ENTRIES_MAX = 100;

class Entry<Path extends ReadPath> {
  readonly state: Signal<Resource<ReadOf<Path>>>;
  users = 0;
  #running: AbortController | null = null;

  readonly path: Path;
  readonly query: Query;

  constructor(path: Path, query: Query) {
    this.path = path;
    this.query = query;
    this.state = signal({ data: null, failure: null, isLoading: true, at: null, renew: () => void this.renew() });
  }

  get isFresh(): boolean {
    const { at, failure } = this.state.peek();
    return failure === null && at !== null && Date.now() - at < FRESH_MS;
  }

  async renew(): Promise<void> {
    this.#running?.abort();
    const running = new AbortController();
    this.#running = running;
    if (this.state.peek().data === null) this.#set({ isLoading: true });
    try {
      const result = await read(this.path, this.query, running.signal);
      if (running.signal.aborted) return;
      this.#running = null;
      if (result.ok) this.#set({ data: result.value, failure: null, isLoading: false, at: Date.now() });
      else this.#set({ failure: result.failure, isLoading: false });
    } catch (cause) {
      if (!running.signal.aborted) throw cause;
    }
  }

  /** Aborts a request that no component waits for. */
  leave(): void {
    this.users -= 1;
    if (this.users > 0) return;
    this.#running?.abort();
    this.#running = null;
  }

  #set(part: Partial<Resource<ReadOf<Path>>>): void {
    this.state.value = { ...this.state.peek(), ...part };
  }
}

/** Cached responses by address. The least recently used entry comes first. */
const entries = new Map<string, Entry<ReadPath>>();

function entryOf<Path extends ReadPath>(path: Path, query: Query): Entry<Path> {
  const address = path + queryText(query);
  // Each address has exactly one path, and therefore exactly one response type.
  const entry = (entries.get(address) as Entry<Path> | undefined) ?? new Entry(path, query);
  entries.delete(address);
  entries.set(address, entry as Entry<ReadPath>);
  for (const [oldest, { users }] of entries) {
    if (entries.size <= ENTRIES_MAX) break;
    if (users === 0) entries.delete(oldest);
  }
  return entry;
}

interface ResourceOptions {
  /** How often the data are read again while the page is visible, in ms; null for never. `RENEWAL_MS` is the usual interval. */
  readonly every?: number | null;
  /** False sends no request: the role may not read the data, or nothing is selected yet. */
  readonly isWanted?: boolean;
}

/**
 * Gives a component a response of the admin API. `useResource` shows cached data at once, and reads the data again if they are older than
 * five seconds. `useResource` aborts a request that no component waits for any more.
 */
export function useResource<Path extends ReadPath>(
  path: Path,
  query: Query = {},
  { every = null, isWanted = true }: ResourceOptions = {},
): Resource<ReadOf<Path>> {
  const address = path + queryText(query);
  // The path and the query are new objects at each render, so their content is compared through the address.
  const entry = useMemo(() => entryOf(path, query), [address]);
  useEffect(() => {
    if (!isWanted) return;
    entry.users += 1;
    if (!entry.isFresh) void entry.renew();
    const stop = whileSeen(every, () => void entry.renew());
    return () => {
      stop();
      entry.leave();
    };
  }, [entry, every, isWanted]);
  const state = entry.state.value;
  // The component shows the response of the previous address until the new response arrives, so that the layout does not jump.
  const shown = useRef<{ path: Path; data: ReadOf<Path> } | null>(null);
  if (state.data !== null) shown.current = { path, data: state.data };
  const before = shown.current;
  if (state.data !== null || !isWanted || state.failure || before?.path !== path) return state;
  return { ...state, data: before.data };
}

/**
 * Calls a function at an interval while the page is visible, and at once when the page becomes visible again.
 * @param ms the interval; null for never
 * @returns a function that stops it
 */
export function whileSeen(ms: number | null, work: () => void): () => void {
  if (ms === null) return () => {};
  let last = Date.now();
  const tick = () => {
    if (document.hidden || Date.now() - last < ms * 0.9) return;
    last = Date.now();
    work();
  };
  const timer = setInterval(tick, ms);
  document.addEventListener('visibilitychange', tick);
  return () => {
    clearInterval(timer);
    document.removeEventListener('visibilitychange', tick);
  };
}

/** Reads all addresses with a prefix again after a change: at once if they are shown, otherwise when a component needs them. */
export function renewAll(prefix: string): void {
  for (const [address, entry] of entries) {
    if (!address.startsWith(prefix)) continue;
    if (entry.users > 0) void entry.renew();
    else entries.delete(address);
  }
}

/** Forgets all data, because they belong to a person who has signed out. */
export function forgetAll(): void {
  entries.clear();
  forgetAnswers();
}

/**
 * Loads code when a component needs the code.
 * @param load the same function at each render; null while the code is not needed
 */
export function useCode<Code>(load: (() => Promise<Code>) | null) {
  const [code, setCode] = useState<Code | null>(null);
  const [isFailed, setFailed] = useState(false);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let isWanted = true;
    setFailed(false);
    load?.().then(
      (loaded) => isWanted && setCode(() => loaded),
      () => isWanted && setFailed(true),
    );
    return () => {
      isWanted = false;
    };
  }, [load, turn]);
  return { code, isFailed, retry: () => setTurn((now) => now + 1) };
}
