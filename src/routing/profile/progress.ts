import { SharedValues } from '../../core/json/shared-values.ts';
import type { Turn } from '../../core/request/conversation.ts';
import type { StuckSigns } from '../../core/request/facts.ts';
import type { ProfileInput } from './input.ts';
import { expressionsOf, figuresOf } from './lexicon/data.ts';
import file from './lexicon/progress.json' with { type: 'json' };
import type { PromptReader } from './prompt-reader.ts';
import { hashOn, textHash } from './text-hash.ts';
import { nativeArguments, nativeOutput, type TextEdit, type ToolArguments } from './tool-call.ts';
import type { ToolResult } from './tool-result.ts';
import { mayFollowUp, readUserTurn, saysSomething } from './user-turn.ts';

/**
 * Finds agents that are stuck. The progress of a session is a fold over its calls of tools, so it depends on the transcript alone: replays
 * and other servers agree, and each beginning of a session has the verdict that it had when it was the whole session.
 *
 * Each sign of trouble adds points (`lexicon/progress.json`). A call that passes removes the points of its failures, and so does a call
 * with fewer failures. A session is stuck from `stuck_points` on, and stays stuck until it has made progress for some calls, or until the
 * user brings a new task.
 */
const POINTS = figuresOf(file);
const { waits: WAITS } = expressionsOf(file);

/** The numbers of calls and turns that are read: at least these and fewer than twice as many, if the conversation has as many. */
const CALLS_MIN = 32;
const TURNS_MIN = 256;

/** Returns the signs that the agent is stuck; null if it makes progress, or if the conversation has no calls of tools. */
export function stuckSigns(request: ProfileInput, reader: PromptReader): StuckSigns | null {
  const { turns } = request.conversation;
  const from = firstTurn(turns);
  if (from < 0) return null;
  const progress = new Progress();
  const calls = new Map<string, Call>();
  for (let at = from; at < turns.length; at++) {
    const turn = turns[at]!;
    if (turn.role === 'assistant') for (const [id, call] of callsOf(turn, request, reader)) calls.set(id, call);
    else if (turn.role === 'user') progress.hear(turn, reader);
    else if (turn.role === 'tool') {
      const [id, result] = resultOf(turn, request, reader);
      const call = calls.get(id);
      if (call) progress.add(call, result, turn.extras.is_error === true);
    }
  }
  return progress.signs;
}

/** A call of a tool. */
interface Call {
  /** A hash of the tool's name. */
  readonly tool: number;
  readonly args: ToolArguments;
  /** Whether the call waits for something, so that it may be repeated. */
  readonly waits: boolean;
}

/** The calls of shared turns by their IDs, and the results with the IDs of their calls. */
const knownCalls = new SharedValues<Turn, readonly IdentifiedCall[]>();
const knownResults = new SharedValues<Turn, IdentifiedResult>();
type IdentifiedCall = readonly [id: string, Call];
type IdentifiedResult = readonly [id: string, ToolResult];

function callsOf(turn: Turn, request: ProfileInput, reader: PromptReader): readonly IdentifiedCall[] {
  const known = knownCalls.get(turn);
  if (known !== undefined) return known;
  const calls: IdentifiedCall[] = [];
  for (const part of turn.parts) {
    if (part.type === 'tool-call') calls.push([part.id, callOf(part.name, part.arguments, reader)]);
    else if (part.type === 'native') {
      const original = request.originalAt(part.at);
      const text = nativeArguments(original);
      if (text !== '') calls.push([callIdOf(original), callOf(part.kind, text, reader)]);
    }
  }
  return knownCalls.set(turn, calls);
}

function callOf(name: string, text: string, reader: PromptReader): Call {
  const args = reader.toolArguments(text);
  return { tool: textHash(name), args, waits: args.waits || WAITS.test(name) };
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

function callIdOf(original: unknown): string {
  if (typeof original !== 'object' || original === null) return '';
  if ('call_id' in original && typeof original.call_id === 'string') return original.call_id;
  return 'id' in original && typeof original.id === 'string' ? original.id : '';
}

/** Returns the ID of the call that a turn answers, and the result. */
function resultOf(turn: Turn, request: ProfileInput, reader: PromptReader): IdentifiedResult {
  const known = knownResults.get(turn);
  if (known !== undefined) return known;
  const [id, text] = resultText(turn, request);
  return knownResults.set(turn, [id, reader.toolResult(text)]);
}

function resultText({ parts, toolCallId }: Turn, request: ProfileInput): readonly [string, string] {
  let text = '';
  for (const part of parts) {
    if (part.type === 'text') text = text === '' ? part.text : `${text}\n${part.text}`;
    else if (part.type === 'native' && toolCallId === undefined) {
      const original = request.originalAt(part.at);
      return [callIdOf(original), nativeOutput(original)];
    }
  }
  return [toolCallId ?? '', text];
}

/** Something that failed and has not passed since. */
interface FailingTarget {
  /** Hashes of its failures. */
  readonly failures: Set<number>;
  /** A hash of the arguments of the last call that failed, and the number of edits before it. */
  call: number;
  edits: number;
  /** Whether the client reported the last failure, by an exit code or a mark of its protocol. */
  isReported: boolean;
  /** The number of calls since then that showed neither a failure nor a success. */
  silent: number;
  /** The lowest number of failures and the highest number of successes that were counted. */
  failed: number;
  succeeded: number;
  /** The numbers of times that it failed as before, and in a new way. */
  same: number;
  other: number;
}

/** The texts that edits of a file removed and added, and the texts that were written to the whole file. All values are hashes. */
interface FileHistory {
  readonly removed: Set<number>;
  readonly added: Set<number>;
  readonly written: Set<number>;
}

/** The progress of a session up to a call. */
class Progress {
  /** The signs of the last time at which the session was stuck, while it is stuck. */
  signs: StuckSigns | null = null;
  readonly #failing = new Map<number, FailingTarget>();
  /** For each failure, the number of further targets that had it. */
  readonly #shared = new Map<number, number>();
  /** The calls with their results since the last edit. */
  readonly #seen = new Set<number>();
  /** The results of commands, whatever was changed in between. */
  readonly #answers = new Set<number>();
  readonly #files = new Map<number, FileHistory>();
  #edits = 0;
  /** The number of calls in a row that failed. */
  #inRow = 0;
  #inRowPoints = 0;
  #lastCall = 0;
  #undone = 0;
  #undonePoints = 0;
  #repeated = 0;
  #repeatedPoints = 0;
  /** While the session is stuck: the numbers of calls in a row with few points, and without a sign. */
  #eased = 0;
  #quiet = 0;

  /** Adds a call of a tool with its result. */
  add({ tool, args, waits }: Call, result: ToolResult, isError: boolean): void {
    const failed = isError || (args.runs ? result.failed : result.failedAtStart);
    const before = this.#points();
    if (args.edits.length > 0 && !failed) this.#edit(args.edits);
    if (args.undoes && !failed) this.#undo();
    const isRepeated =
      args.edits.length === 0 && this.#repeats(hashOn(hashOn(tool, args.hash), result.hash), failed, waits);
    if (!failed) {
      if (!isRepeated && !waits) this.#noteAnswer(tool, args, result);
      this.#pass(hashOn(tool, args.target), args, result);
    } else if (!isRepeated) this.#fail(tool, args, result, isError);
    this.#countInRow(failed, args.runs, before);
    this.#judge(this.#points(), before);
  }

  /** A failure directly after a failure is a sign if it is none for another reason. A tool that only shows files says little by failing. */
  #countInRow(failed: boolean, runs: boolean, before: number): void {
    if (!failed) this.#endRow();
    else if (runs && this.#inRow++ > 0 && this.#points() <= before) this.#inRowPoints += POINTS.failing_in_row;
  }

  #endRow(): void {
    this.#inRow = 0;
    this.#inRowPoints = 0;
  }

  /**
   * Adds a message of the user. The user may ask for edits to be undone and for calls to be repeated, so neither is a sign across messages.
   * A long message begins a new task, unless something still fails: then the user probably writes about the failure.
   */
  hear(turn: Turn, reader: PromptReader): void {
    const hasSigns = this.#seen.size + this.#files.size + this.#undone + this.#repeated > 0 || this.signs !== null;
    // Reading a long message takes longer than all the rest.
    if (!hasSigns) return;
    const read = readUserTurn(turn, reader);
    if (!saysSomething(read)) return;
    this.#files.clear();
    this.#seen.clear();
    this.#answers.clear();
    this.#forgetRepeats();
    if (this.#failing.size === 0 && !mayFollowUp(read)) this.signs = null;
  }

  #points(): number {
    let worst = 0;
    for (const { failures, same, other } of this.#failing.values()) {
      const shared = this.#sharedBy(failures);
      const { same_failure, shared_failure, failing_run } = POINTS;
      worst = Math.max(worst, same * same_failure + shared * shared_failure + other * failing_run);
    }
    return worst + this.#undonePoints + this.#repeatedPoints + this.#inRowPoints;
  }

  #sharedBy(failures: ReadonlySet<number>): number {
    let most = 0;
    for (const failure of failures) most = Math.max(most, this.#shared.get(failure) ?? 0);
    return most;
  }

  #edit(edits: readonly TextEdit[]): void {
    this.#edits++;
    this.#seen.clear();
    let isUndone = false;
    for (const { file, removed, added, onlyRemoves } of edits) {
      const history = this.#files.get(file) ?? { removed: new Set(), added: new Set(), written: new Set() };
      this.#files.set(file, history);
      if (removed === null) {
        isUndone ||= history.written.has(added);
        history.written.add(added);
      } else {
        isUndone ||= !onlyRemoves && history.removed.has(added) && history.added.has(removed);
        history.removed.add(removed);
        history.added.add(added);
      }
    }
    if (isUndone) this.#undo();
  }

  #undo(): void {
    this.#undone++;
    this.#undonePoints += this.#failing.size > 0 ? POINTS.undone_edit : POINTS.undone_freely;
  }

  /** Notes a call with its result. @returns whether both are the same as before, with no edit in between */
  #repeats(call: number, failed: boolean, waits: boolean): boolean {
    const isAtOnce = call === this.#lastCall;
    this.#lastCall = call;
    if (!this.#seen.has(call)) {
      this.#seen.add(call);
      this.#repeatedPoints = Math.max(0, this.#repeatedPoints - POINTS.new_result);
      return false;
    }
    if (failed || !waits) this.#countRepeat(failed || isAtOnce);
    return true;
  }

  /** Notes the result of a command that was run after a change, or with other arguments. */
  #noteAnswer(tool: number, { target, edits, runs }: ToolArguments, result: ToolResult): void {
    if (!runs || edits.length > 0 || result.hasExitCode || result.succeeds) return;
    const answer = hashOn(hashOn(tool, target), result.hash);
    if (!this.#answers.has(answer)) this.#answers.add(answer);
    else {
      this.#repeated++;
      this.#repeatedPoints += POINTS.unchanged_result + POINTS.new_result;
    }
  }

  /** The first repetition may be an attempt to reproduce a failure. */
  #countRepeat(isAtOnce: boolean): void {
    this.#repeatedPoints += isAtOnce && this.#repeated > 0 ? POINTS.repeated_at_once : POINTS.repeated_later;
    this.#repeated++;
  }

  #forgetRepeats(): void {
    this.#undone = 0;
    this.#undonePoints = 0;
    this.#repeated = 0;
    this.#repeatedPoints = 0;
    this.#endRow();
  }

  #pass(target: number, { edits, runs }: ToolArguments, result: ToolResult): void {
    const passed = this.#failing.get(target);
    if (passed === undefined) return;
    const isClear = passed.isReported || result.hasExitCode || edits.length > 0 || !runs || result.succeeds;
    if (!isClear && ++passed.silent < POINTS.silent_runs) return;
    for (const [other, { failures }] of this.#failing)
      if (!failures.isDisjointFrom(passed.failures)) this.#failing.delete(other);
    for (const failure of passed.failures) this.#shared.delete(failure);
    if (passed.same + passed.other > 0) this.#forgetRepeats();
  }

  #fail(tool: number, args: ToolArguments, result: ToolResult, isError: boolean): void {
    const { likeness, failures: failed, successes: succeeded } = result;
    const target = hashOn(tool, args.target);
    const failure = hashOn(likeness.letters < POINTS.telling_letters ? target : tool, likeness.hash);
    const last = this.#failing.get(target);
    const isReported = isError || result.hasExitCode;
    const now = { call: args.hash, edits: this.#edits, isReported, silent: 0 };
    const isLess =
      last && ((failed > 0 && failed < last.failed) || (succeeded > last.succeeded && failed <= last.failed));
    if (isLess) {
      for (const one of last.failures) this.#shared.delete(one);
      // Otherwise the new failure would count as shared with this call itself.
      this.#failing.delete(target);
      this.#endRow();
    }
    if (!last || isLess) {
      this.#share(failure);
      this.#failing.set(target, { ...now, failures: new Set([failure]), failed, succeeded, same: 0, other: 0 });
      return;
    }
    const isChanged = args.hash !== last.call || this.#edits !== last.edits;
    if (!last.failures.has(failure)) {
      if (!this.#share(failure)) last.other++;
    } else if (isChanged) last.same++;
    // Only numbers such as times differ.
    else this.#countRepeat(true);
    Object.assign(last, now);
    last.failures.add(failure);
    last.succeeded = Math.max(last.succeeded, succeeded);
  }

  /** Notes a failure that is new to its target. @returns whether another target has it */
  #share(failure: number): boolean {
    for (const { failures } of this.#failing.values()) {
      if (!failures.has(failure)) continue;
      this.#shared.set(failure, (this.#shared.get(failure) ?? 0) + 1);
      return true;
    }
    return false;
  }

  #judge(points: number, before: number): void {
    if (points >= POINTS.stuck_points && (this.signs === null || points > before)) this.signs = this.#signsNow();
    if (this.signs === null) return;
    this.#quiet = points > before ? 0 : this.#quiet + 1;
    this.#eased = points > POINTS.eased_points ? 0 : this.#eased + 1;
    if (this.#eased < POINTS.eased_calls && this.#quiet < POINTS.quiet_calls) return;
    this.signs = null;
    this.#failing.clear();
    this.#shared.clear();
    this.#forgetRepeats();
    this.#eased = 0;
    this.#quiet = 0;
  }

  #signsNow(): StuckSigns {
    let sameFailures = 0;
    let failingRuns = 0;
    for (const { failures, same, other } of this.#failing.values()) {
      sameFailures = Math.max(sameFailures, same + this.#sharedBy(failures));
      if (same + other > 0) failingRuns = Math.max(failingRuns, same + other + 1);
    }
    failingRuns = Math.max(failingRuns, this.#inRow > 1 ? this.#inRow : 0);
    return { sameFailures, failingRuns, undoneEdits: this.#undone, repeatedCalls: this.#repeated };
  }
}
