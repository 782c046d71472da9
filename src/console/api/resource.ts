import { type Signal, signal } from '@preact/signals';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type Query, queryText } from './base.ts';
import { forgetAnswers, read } from './client.ts';
import type { ApiFailure } from './failure.ts';
import type { ReadOf, ReadPath } from './reads.ts';

/** The latest knowledge of one address. Data stay while they are renewed, and where that fails. */
export interface Resource<T> {
  readonly data: T | null;
  /** Of the last try; null where it succeeded. */
  readonly failure: ApiFailure | null;
  readonly isLoading: boolean;
  /** When the data were true, ms since 1970; null without. */
  readonly at: number | null;
  /** Asks again. */
  renew(): void;
}

/** How long an answer is taken as it is, without another request. */
const FRESH_MS = 5_000;
/** How often a seen page renews its figures. */
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

  /** Ends a request that nobody waits for. */
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

/** Answers by address, the least used first. */
const entries = new Map<string, Entry<ReadPath>>();

function entryOf<Path extends ReadPath>(path: Path, query: Query): Entry<Path> {
  const address = path + queryText(query);
  // An address has one path, and so the type of its answers.
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
  /** Renewed in this rhythm while the page is seen, ms; null for never. `RENEWAL_MS` is the usual one. */
  readonly every?: number | null;
  /** False asks for nothing: where the role may not read it, or nothing is chosen yet. */
  readonly isWanted?: boolean;
}

/**
 * An answer of the admin API in a component: at once what is known, and renewed where that is older than five seconds. A request
 * that no component waits for any more is aborted.
 */
export function useResource<Path extends ReadPath>(
  path: Path,
  query: Query = {},
  { every = null, isWanted = true }: ResourceOptions = {},
): Resource<ReadOf<Path>> {
  const address = path + queryText(query);
  // The address stands for path and query, whose objects are new at each drawing.
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
  // The answer of the address before stays until that of the new one is there: nothing jumps.
  const shown = useRef<{ path: Path; data: ReadOf<Path> } | null>(null);
  if (state.data !== null) shown.current = { path, data: state.data };
  const before = shown.current;
  if (state.data !== null || !isWanted || state.failure || before?.path !== path) return state;
  return { ...state, data: before.data };
}

/** Calls in a rhythm while the page is seen, and at once when it comes back into sight. @param ms null for never @returns stops it */
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

/** Renews what begins with a path, after a change: at once where it is shown, else when it is wanted again. */
export function renewAll(prefix: string): void {
  for (const [address, entry] of entries) {
    if (!address.startsWith(prefix)) continue;
    if (entry.users > 0) void entry.renew();
    else entries.delete(address);
  }
}

/** Forgets everything: it belonged to somebody who has signed out. */
export function forgetAll(): void {
  entries.clear();
  forgetAnswers();
}

/** Code that comes when it is needed. @param load the same function at each drawing; null while it is not needed */
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
