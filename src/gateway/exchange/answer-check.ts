import type { StreamPart } from '../../contract/parts.ts';
import { type Awaitable, whenReady } from '../../core/awaitable.ts';
import { parseJson } from '../../core/json/object.ts';
import type { EscalationSignal } from '../../core/request/escalation.ts';
import type { AnswerSignal } from '../../core/request/failure-kinds.ts';
import { isFittingCall } from '../../core/request/fitting-call.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import { ANSWER_STEPS, type CheckBudget, fitsSchema } from '../../core/schema/fits.ts';
import { wantsForm } from '../money/second-attempt.ts';
import type { AnswerJudge } from './runnable-request.ts';

/** Reads an answer before its reader gets it, and says whether it failed. */
export interface AnswerReview {
  add(parts: readonly StreamPart[]): void;
  /** Whether the answer has not failed, whatever follows. */
  readonly isSettled: boolean;
  /** Returns how a complete first answer failed; null if it did not. */
  signal(): Awaitable<AnswerSignal | null>;
  /** Returns why the complete answer of a second attempt is no use; null if it is good. */
  failure(): Awaitable<AnswerFailure | null>;
}

/** Reads an answer that a guard may block. */
export class GuardReview implements AnswerReview {
  readonly isSettled = false;
  readonly #judge: AnswerJudge;
  readonly #parts: StreamPart[] = [];

  constructor(judge: AnswerJudge) {
    this.#judge = judge;
  }

  add(parts: readonly StreamPart[]): void {
    for (const part of parts) this.#parts.push(part);
  }

  signal(): Awaitable<AnswerSignal | null> {
    // A second answer would end at the same output limit.
    const isCut = this.#parts.some((part) => part.type === 'finish' && part.reason === 'length');
    return isCut ? null : this.failure();
  }

  failure(): Awaitable<AnswerSignal | null> {
    return whenReady(this.#judge(this.#parts), (isBlocked) => (isBlocked ? 'broken_schema' : null));
  }
}

/** The content of one choice of an answer so far. */
interface ChoiceState {
  readonly texts: string[];
  readonly calls: Map<number, { readonly name: string; readonly pieces: string[] }>;
  /** Whether the choice has a text that is more than whitespace. */
  hasText: boolean;
  /** Whether the model wrote something that only the service's own dialect can express. */
  hasOther: boolean;
  /** Whether the model or a filter refused to answer. */
  isRefused: boolean;
  /** Whether the answer ended at its output limit, or has no end. */
  isCut: boolean;
}

/** The fault of a complete answer. */
export type AnswerFailure = AnswerSignal | 'refused';

/**
 * Reads an answer, in the form that the caller gets, and finds out whether it failed: a call of a function with arguments that do not fit its
 * schema, a text that is not the JSON that the request wants, or no content at all.
 */
export class AnswerCheck implements AnswerReview {
  readonly #request: CheckedRequest;
  readonly #on: readonly EscalationSignal[];
  /** Whether only an empty answer would be a failure. */
  readonly #isFree: boolean;
  readonly #choices = new Map<number, ChoiceState>();
  #isSettled = false;

  /**
   * @param on the signals that count
   * @param isSecond whether a second attempt gives the answer, which is then read to its end
   */
  constructor(request: CheckedRequest, on: readonly EscalationSignal[], isSecond = false) {
    this.#request = request;
    this.#on = on;
    this.#isFree = !isSecond && !wantsForm(request);
  }

  add(parts: readonly StreamPart[]): void {
    for (const part of parts) {
      if ('choice' in part) this.#read(part, this.#stateOf(part.choice));
    }
  }

  /** Whether the answer has not failed, whatever follows. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  /**
   * Returns how a first answer failed, after its end; null if any of its choices is good. A choice that was refused or cut off says nothing
   * about what the model can do, so it counts as good.
   */
  signal(): AnswerSignal | null {
    return this.#firstOf((choice, budget) =>
      choice.isCut || choice.isRefused ? null : this.#signalOf(choice, budget),
    );
  }

  /** Returns why the answer of a second attempt is no use, after its end; null if any of its choices is good. */
  failure(): AnswerFailure | null {
    return this.#firstOf((choice, budget) => (choice.isRefused ? 'refused' : this.#signalOf(choice, budget)));
  }

  #firstOf<Failure>(failureOf: (choice: ChoiceState, budget: CheckBudget) => Failure | null): Failure | null {
    const budget = { left: ANSWER_STEPS };
    let first: Failure | null = null;
    for (const choice of this.#choices.values()) {
      const failure = failureOf(choice, budget);
      if (failure === null) return null;
      first ??= failure;
    }
    return first;
  }

  #stateOf(choice: number): ChoiceState {
    let state = this.#choices.get(choice);
    if (!state) {
      state = { texts: [], calls: new Map(), hasText: false, hasOther: false, isRefused: false, isCut: true };
      this.#choices.set(choice, state);
    }
    return state;
  }

  #read(part: Extract<StreamPart, { readonly choice: number }>, state: ChoiceState): void {
    if (part.type === 'text') {
      state.hasText ||= part.text.trim() !== '';
      if (!this.#isFree) state.texts.push(part.text);
    } else if (part.type === 'tool-call') {
      const call = state.calls.get(part.index);
      if (call) call.pieces.push(part.arguments);
      else state.calls.set(part.index, { name: part.name ?? '', pieces: [part.arguments] });
    } else if (part.type === 'refusal') state.isRefused = true;
    else if (part.type === 'finish') {
      state.isCut = part.reason === 'length';
      state.isRefused ||= part.reason === 'content_filter';
    } else if (part.type === 'passthrough' || part.type === 'unread')
      state.hasOther ||= part.unread !== undefined && part.unread.texts.length > 0;
    if (this.#isFree && (state.hasText || state.calls.size > 0 || state.hasOther)) this.#isSettled = true;
  }

  #signalOf(choice: ChoiceState, budget: CheckBudget): AnswerSignal | null {
    const signal = this.#anySignalOf(choice, budget);
    return signal !== null && this.#on.includes(signal) ? signal : null;
  }

  #anySignalOf({ texts, calls, hasText, hasOther }: ChoiceState, budget: CheckBudget): AnswerSignal | null {
    const { tools, nativeTools = [] } = this.#request.conversation;
    // A service may call its own tools, which the request does not name as functions.
    const known = calls.size === 0 || nativeTools.length > 0 ? null : new Set(tools.map(({ name }) => name));
    for (const { name, pieces } of calls.values()) {
      if (known?.has(name) === false) return 'malformed_call';
      if (!isFittingCall({ name, arguments: pieces.join('') }, tools, budget)) return 'malformed_call';
    }
    // Tools of a service write texts around their results.
    if (calls.size > 0 || hasOther || nativeTools.length > 0) return null;
    if (!hasText) return 'empty_answer';
    return this.#isWanted(texts, budget) ? null : 'broken_schema';
  }

  #isWanted(texts: readonly string[], budget: CheckBudget): boolean {
    const { answerFormat } = this.#request.settings;
    if (!answerFormat || answerFormat.type === 'text') return true;
    const value = parseJson(texts.join(''));
    if (value === undefined) return false;
    return answerFormat.schema === undefined || fitsSchema(answerFormat.schema, value, budget);
  }
}

type CheckedRequest = Pick<ModelRequest, 'conversation' | 'settings'>;
