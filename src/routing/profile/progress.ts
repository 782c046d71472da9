import { ListValues } from '../../core/json/list-memory.ts';
import { isShared, SharedValues } from '../../core/json/shared-values.ts';
import type { Turn } from '../../core/request/conversation.ts';
import type { StuckSigns } from '../../core/request/facts.ts';
import type { ProfileInput } from './input.ts';
import type { PromptReader } from './prompt-reader.ts';
import { Progress } from './session-progress.ts';
import { type Call, callsOf, resultOf } from './tool-turns.ts';

/** The numbers of calls and turns that are read: at least these and fewer than twice as many, if the conversation has as many. */
const CALLS_MIN = 32;
const TURNS_MIN = 256;

/**
 * Returns the signs that the agent is stuck; null if it makes progress, or if the conversation has no calls of tools. In a running
 * conversation, only the turns after the kept reading are read.
 */
export function stuckSigns(request: ProfileInput, reader: PromptReader): StuckSigns | null {
  const { turns } = request.conversation;
  const from = firstTurn(turns);
  if (from < 0) return null;
  const reading = keptReading(turns, from) ?? new SessionReading(from);
  for (let at = reading.to + EVERY - (reading.to % EVERY); at < turns.length; at += EVERY) {
    reading.read(at, request, reader);
    if (at > turns.length - 2 * EVERY) reading.keepCopy(turns[at - 1]!);
  }
  reading.read(turns.length, request, reader);
  if (reading.size <= KEPT_MAX) readings.set(turns.at(-1)!, reading);
  return reading.signs;
}

/** The readings of sessions up to a shared turn. The next request takes the reading and continues it. */
const readings = new SharedValues<Turn, SessionReading | null>();
/**
 * Copies of the last two readings that end at every so many turns. They are needed because clients often change the last turns once more,
 * for example to move a mark of the cache.
 */
const copies = new SharedValues<Turn, SessionReading | null>();
const EVERY = 16;
/** The largest reading that is kept, as `size` counts: about 10 KB. */
const KEPT_MAX = 400;

/** Returns the longest kept reading that begins at turn `from` and has read the same turns; null for none. */
function keptReading(turns: readonly Turn[], from: number): SessionReading | null {
  for (let at = turns.length - 1; at >= from; at--) {
    const turn = turns[at]!;
    const reading = readings.get(turn);
    if (reading?.hasRead(turns, from, at + 1)) {
      readings.set(turn, null);
      return reading;
    }
    const copy = copies.get(turn);
    if (copy?.hasRead(turns, from, at + 1)) return copy.copy();
  }
  return null;
}

/** The progress of a session from a first turn up to another one. */
class SessionReading {
  readonly #from: number;
  #progress = new Progress();
  #calls = new Map<string, Call>();
  #turns: readonly Turn[] = [];
  /** The turns that have a copy of this reading. */
  #copiedAt: readonly Turn[] = [];

  constructor(from: number) {
    this.#from = from;
  }

  /** The index after the last turn that was read. */
  get to(): number {
    return this.#from + this.#turns.length;
  }

  /** How much memory this takes: about 25 bytes each. */
  get size(): number {
    return this.#progress.size + this.#calls.size;
  }

  get signs(): StuckSigns | null {
    return this.#progress.signs;
  }

  copy(): SessionReading {
    const copy = new SessionReading(this.#from);
    copy.#progress = this.#progress.copy();
    copy.#calls = new Map(this.#calls);
    copy.#turns = this.#turns;
    copy.#copiedAt = this.#copiedAt;
    return copy;
  }

  /** Keeps a copy at the last turn that was read, in place of the copy before the last one. */
  keepCopy(turn: Turn): void {
    if (!isShared(turn) || this.size > KEPT_MAX) return;
    for (const old of this.#copiedAt.slice(0, -1)) copies.set(old, null);
    this.#copiedAt = [...this.#copiedAt.slice(-1), turn];
    copies.set(turn, this.copy());
  }

  hasRead(turns: readonly Turn[], from: number, to: number): boolean {
    const read = this.#turns;
    if (read.length !== to - from) return false;
    for (let at = 0; at < read.length; at++) if (read[at] !== turns[from + at]) return false;
    return true;
  }

  /** Reads on, up to turn `to`. */
  read(to: number, request: ProfileInput, reader: PromptReader): void {
    const { turns } = request.conversation;
    const progress = this.#progress;
    for (let at = this.to; at < to; at++) {
      const turn = turns[at]!;
      if (turn.role === 'assistant') for (const [id, call] of callsOf(turn, request, reader)) this.#calls.set(id, call);
      else if (turn.role === 'user') progress.hear(turn, reader);
      else if (turn.role === 'tool') {
        const [id, result] = resultOf(turn, request, reader);
        const call = this.#calls.get(id);
        if (call) progress.add(call, result, turn.extras.is_error === true);
      }
    }
    this.#turns = turns.slice(this.#from, to);
  }
}

/** Returns the index of the first turn to read; -1 if there are no results of tools. */
function firstTurn(turns: readonly Turn[]): number {
  const from = leftOut(turns.length, TURNS_MIN);
  const results = resultPlaces.of(turns, null, addResultPlace);
  let first = 0;
  while (results[first]! < from) first++;
  if (first === results.length) return -1;
  const left = leftOut(results.length - first, CALLS_MIN);
  return left === 0 ? from : results[first + left - 1]! + 1;
}

/** The indexes of the results of tools in lists of turns. */
const resultPlaces = new ListValues<Turn, number>();
function addResultPlace({ role }: Turn, at: number, places: number[]): void {
  if (role === 'tool') places.push(at);
}

/** Returns how many of the first items are left out. It grows in steps, so that verdicts seldom change because of it. */
const leftOut = (all: number, min: number): number => Math.max(0, (Math.floor(all / min) - 1) * min);
