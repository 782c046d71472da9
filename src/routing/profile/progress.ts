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

/** The last turns, which no kept reading includes: clients often change them once more, for example to move a mark of the cache. */
const LATEST = 8;

/**
 * Returns the signs that the agent is stuck; null if it makes progress, or if the conversation has no calls of tools. In a running
 * conversation, only the turns after the kept reading are read.
 */
export function stuckSigns(request: ProfileInput, reader: PromptReader): StuckSigns | null {
  const { turns } = request.conversation;
  const from = firstTurn(turns);
  if (from < 0) return null;
  const settled = turns.length - LATEST;
  const last = settled > from ? turns[settled - 1]! : null;
  if (last === null || !isShared(last)) return new SessionReading(from).read(turns.length, request, reader).signs;
  const kept = takeReading(turns, from, settled) ?? new SessionReading(from);
  kept.read(settled, request, reader);
  if (kept.size <= KEPT_MAX) keptReadings.set(last, kept);
  return kept.copy().read(turns.length, request, reader).signs;
}

/**
 * The readings of sessions up to a shared turn. The next request takes the reading and continues it, so that no two turns have the same
 * reading.
 */
const keptReadings = new SharedValues<Turn, SessionReading | null>();
/** The largest reading that is kept, as `Progress.size` counts. It takes about 16 KB. */
const KEPT_MAX = 512;

/** Takes the longest kept reading that begins at turn `from`, ends before turn `to` and has read exactly these turns. */
function takeReading(turns: readonly Turn[], from: number, to: number): SessionReading | null {
  for (let at = to - 1; at >= from; at--) {
    const kept = keptReadings.get(turns[at]!);
    if (!kept?.hasRead(turns, from, at + 1)) continue;
    keptReadings.set(turns[at]!, null);
    return kept;
  }
  return null;
}

/** The progress of a session from a first turn up to another one. */
class SessionReading {
  readonly #from: number;
  readonly #progress: Progress;
  readonly #calls: Map<string, Call>;
  #turns: readonly Turn[] = [];

  constructor(from: number, progress = new Progress(), calls = new Map<string, Call>()) {
    this.#from = from;
    this.#progress = progress;
    this.#calls = calls;
  }

  get size(): number {
    return this.#progress.size + this.#calls.size;
  }

  copy(): SessionReading {
    const copy = new SessionReading(this.#from, this.#progress.copy(), new Map(this.#calls));
    copy.#turns = this.#turns;
    return copy;
  }

  hasRead(turns: readonly Turn[], from: number, to: number): boolean {
    const read = this.#turns;
    if (read.length !== to - from) return false;
    for (let at = 0; at < read.length; at++) if (read[at] !== turns[from + at]) return false;
    return true;
  }

  /** Reads on, up to turn `to`. */
  read(to: number, request: ProfileInput, reader: PromptReader): Progress {
    const { turns } = request.conversation;
    const progress = this.#progress;
    for (let at = this.#from + this.#turns.length; at < to; at++) {
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
    return progress;
  }
}

/** Returns the index of the first turn to read; -1 if there are no results of tools. */
function firstTurn(turns: readonly Turn[]): number {
  let from = leftOut(turns.length, TURNS_MIN);
  let results = 0;
  for (let at = from; at < turns.length; at++) if (turns[at]!.role === 'tool') results++;
  if (results === 0) return -1;
  for (let left = leftOut(results, CALLS_MIN); left > 0; from++) if (turns[from]!.role === 'tool') left--;
  return from;
}

/** Returns how many of the first items are left out. It grows in steps, so that verdicts seldom change because of it. */
const leftOut = (all: number, min: number): number => Math.max(0, (Math.floor(all / min) - 1) * min);
