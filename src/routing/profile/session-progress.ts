import type { Turn } from '../../core/request/conversation.ts';
import type { StuckSigns } from '../../core/request/facts.ts';
import { figuresOf } from './lexicon/data.ts';
import file from './lexicon/progress.json' with { type: 'json' };
import type { PromptReader } from './prompt-reader.ts';
import { hashOn } from './text-hash.ts';
import type { TextEdit, ToolArguments } from './tool-call.ts';
import type { ToolResult } from './tool-result.ts';
import type { Call } from './tool-turns.ts';
import { mayFollowUp, readUserTurn, saysSomething } from './user-turn.ts';

const POINTS = figuresOf(file);

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

/**
 * The progress of a session up to a call, which shows whether its agent is stuck. It is a fold over the calls of tools, so it depends on
 * the transcript alone: replays and other servers agree, and each beginning of a session has the verdict that it had when it was the whole
 * session.
 *
 * Each sign of trouble adds points (`lexicon/progress.json`). A call that passes removes the points of its failures, and so does a call
 * with fewer failures. A session is stuck from `stuck_points` on, and stays stuck until it has made progress for some calls, or until the
 * user brings a new task.
 */
export class Progress {
  /** The signs of the last time at which the session was stuck, while it is stuck. */
  signs: StuckSigns | null = null;
  readonly #failing = new Map<number, FailingTarget>();
  /** For each failure, the number of further targets that had it. */
  readonly #shared = new Map<number, number>();
  /** The calls with their results since the last edit. */
  #seen = new Set<number>();
  /** The results of commands, whatever was changed in between. */
  #answers = new Set<number>();
  readonly #files = new Map<number, FileHistory>();
  #edits = 0;
  /** Whether the last edit changed other files than the edits before it. */
  #isElsewhere = false;
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

  /** How much memory this takes, about 25 bytes each. */
  get size(): number {
    let size = this.#shared.size + this.#seen.size + this.#answers.size;
    for (const { failures } of this.#failing.values()) size += 8 + failures.size;
    for (const { removed, added, written } of this.#files.values())
      size += 16 + removed.size + added.size + written.size;
    return size;
  }

  copy(): Progress {
    const copy = new Progress();
    copy.signs = this.signs;
    for (const [target, one] of this.#failing) copy.#failing.set(target, { ...one, failures: new Set(one.failures) });
    for (const [failure, others] of this.#shared) copy.#shared.set(failure, others);
    copy.#seen = new Set(this.#seen);
    copy.#answers = new Set(this.#answers);
    for (const [name, { removed, added, written }] of this.#files)
      copy.#files.set(name, { removed: new Set(removed), added: new Set(added), written: new Set(written) });
    copy.#edits = this.#edits;
    copy.#isElsewhere = this.#isElsewhere;
    copy.#inRow = this.#inRow;
    copy.#inRowPoints = this.#inRowPoints;
    copy.#lastCall = this.#lastCall;
    copy.#undone = this.#undone;
    copy.#undonePoints = this.#undonePoints;
    copy.#repeated = this.#repeated;
    copy.#repeatedPoints = this.#repeatedPoints;
    copy.#eased = this.#eased;
    copy.#quiet = this.#quiet;
    return copy;
  }

  /** Adds a call of a tool with its result. */
  add(call: Call, result: ToolResult, isError: boolean): void {
    const { tool, args, reads } = call;
    const isPending = (call.waits || args.probes || reads) && args.edits.length === 0 && result.isPending;
    const waits = call.waits || args.probes || isPending;
    const failed = !isPending && hasFailed(args, result, isError);
    const before = this.#points();
    if (args.edits.length > 0 && !failed) this.#edit(args.edits);
    if (args.undoes && !failed) this.#undo();
    const isRepeated = args.edits.length === 0 && this.#repeats(call, result, failed, waits);
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
    this.#isElsewhere = this.#files.size > 0 && edits.every(({ file }) => !this.#files.has(file));
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
  #repeats({ tool, args }: Call, result: ToolResult, failed: boolean, waits: boolean): boolean {
    const call = hashOn(hashOn(tool, args.hash), result.hash);
    const isAtOnce = call === this.#lastCall;
    this.#lastCall = call;
    if (!this.#seen.has(call)) {
      this.#seen.add(call);
      this.#repeatedPoints = Math.max(0, this.#repeatedPoints - POINTS.new_result);
      return false;
    }
    // An agent that runs a command again at once, although the command passed, looks whether something has changed.
    const isPoll = waits || (isAtOnce && args.polls && !result.isMarked);
    if (failed || !isPoll) this.#countRepeat(failed || isAtOnce);
    return true;
  }

  /** Notes the result of a command that was run after a change, or with other arguments. */
  #noteAnswer(tool: number, { target, edits, runs }: ToolArguments, result: ToolResult): void {
    if (!runs || edits.length > 0 || result.hasExitCode) return;
    const answer = hashOn(hashOn(tool, target), result.hash);
    if (!this.#answers.has(answer)) this.#answers.add(answer);
    else if (!result.succeeds && !this.#isElsewhere) {
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

/** The exit code of a look at something outside may say that it is not ready yet, and the exit code of a comparison is its answer. */
function hasFailed({ runs, probes, asks }: ToolArguments, result: ToolResult, isError: boolean): boolean {
  if (probes) return result.isMarked;
  if (asks && result.exitCode === 1) return false;
  return isError || (runs ? result.failed : result.failedAtStart);
}
