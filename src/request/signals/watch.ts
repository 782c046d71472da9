import type { FinishReason, StreamPart } from '../../contract/parts.ts';
import type { LearningPolicy } from '../../core/learning-policy.ts';
import type { ModelRequest } from '../../core/model-request.ts';
import { isObject, parseJson } from '../../core/object.ts';
import type { AnswerSignals } from '../../learning/answer.ts';
import { StepBudget } from './json.ts';
import { violates } from './schema-check.ts';

/** Characters of an answer that are kept for checks. Form and arguments of a longer one are not checked. */
const KEPT_MAX = 65_536;
/** The characters that a call counts as. */
const CALL_COST = 64;
/** Choices that are checked. */
const CHOICES_MAX = 128;
/** Steps of all checks of one answer: some milliseconds at most. */
export const STEPS_MAX = 20_000;

/** Checks one answer. */
export interface AnswerWatch {
  /** Takes parts as the caller gets them. */
  hear(parts: readonly StreamPart[]): void;
  /** The signals at the end of the answer, without those that cannot be decided. */
  verdict(): AnswerSignals;
}

/** Begins to check an answer; null where the policy wants no check. */
export function watchAnswer({ mode, signals }: LearningPolicy, request: ModelRequest): AnswerWatch | null {
  if (mode === 'off') return null;
  const { answerFormat: format, stop } = request.settings;
  // A cut by the caller's own stop sequence is not the model's fault.
  const mayBeCut = stop !== undefined && stop.length > 0;
  const watched: SignalSwitches = {
    schema: signals.schema > 0 && !mayBeCut && format !== undefined && format.type !== 'text',
    tool_arguments: signals.tool_arguments > 0 && !mayBeCut,
    refusal: signals.refusal > 0,
    empty: signals.empty > 0 && !mayBeCut,
  };
  return Object.values(watched).some(Boolean) ? new Watch(watched, request) : null;
}

type SignalSwitches = Readonly<Record<'schema' | 'tool_arguments' | 'refusal' | 'empty', boolean>>;

interface Call {
  name: string;
  arguments: string;
}

interface ChoiceState {
  text: string;
  /** Has text beside spaces. */
  speaks: boolean;
  refuses: boolean;
  finish: FinishReason | null;
  readonly calls: Map<number, Call>;
}

class Watch implements AnswerWatch {
  readonly #watched: SignalSwitches;
  readonly #request: ModelRequest;
  readonly #choices = new Map<number, ChoiceState>();
  #room = KEPT_MAX;

  constructor(watched: SignalSwitches, request: ModelRequest) {
    this.#watched = watched;
    this.#request = request;
  }

  hear(parts: readonly StreamPart[]): void {
    for (const part of parts) {
      if (part.type === 'text') this.#hearText(part);
      else if (part.type === 'tool-call') this.#hearCall(part);
      else if (part.type === 'refusal' || part.type === 'finish') this.#hearEnd(part);
    }
  }

  verdict(): AnswerSignals {
    const { schema, tool_arguments: calls, refusal, empty } = this.#watched;
    const isWhole = this.#room >= 0;
    const steps = new StepBudget(STEPS_MAX);
    const found: SignalFindings = {};
    for (const choice of this.#choices.values()) {
      const { text, speaks, refuses, finish } = choice;
      if (refusal && finish !== null) note(found, 'refusal', refuses || finish === 'content_filter');
      if (finish !== 'stop') continue;
      const isTextAtMost = !refuses && choice.calls.size === 0;
      if (empty) note(found, 'empty', isTextAtMost && !speaks);
      if (schema && isWhole && isTextAtMost && speaks) note(found, 'schema', isUnformed(text, this.#request, steps));
    }
    if (calls && isWhole) this.#checkCalls(found, steps);
    return decided(found);
  }

  #checkCalls(found: SignalFindings, steps: StepBudget): void {
    let tools: ReadonlyMap<string, unknown> | null = null;
    for (const { finish, calls } of this.#choices.values()) {
      if (calls.size === 0 || (finish !== 'stop' && finish !== 'tool_calls')) continue;
      tools ??= toolsOf(this.#request);
      for (const call of calls.values()) note(found, 'tool_arguments', isMisused(call, tools, steps));
    }
  }

  #hearText({ choice, text }: Extract<StreamPart, { type: 'text' }>): void {
    const state = this.#stateOf(choice);
    if (!state) return;
    state.speaks ||= /\S/.test(text);
    if (this.#watched.schema && this.#fits(text.length)) state.text += text;
  }

  #hearCall({ choice, index, name, arguments: piece }: Extract<StreamPart, { type: 'tool-call' }>): void {
    const state = this.#stateOf(choice);
    if (!state) return;
    let call = state.calls.get(index);
    if (!call) {
      if (!this.#fits(CALL_COST)) return;
      call = { name: '', arguments: '' };
      state.calls.set(index, call);
    }
    if (name !== undefined) call.name = name;
    if (this.#watched.tool_arguments && this.#fits(piece.length)) call.arguments += piece;
  }

  #hearEnd(part: Extract<StreamPart, { type: 'refusal' | 'finish' }>): void {
    const state = this.#stateOf(part.choice);
    if (!state) return;
    if (part.type === 'finish') state.finish = part.reason;
    else state.refuses ||= part.text !== '';
  }

  /** The state of a choice; null for one beyond those that are checked. */
  #stateOf(choice: number): ChoiceState | null {
    const known = this.#choices.get(choice);
    if (known || this.#choices.size >= CHOICES_MAX) return known ?? null;
    const state: ChoiceState = { text: '', speaks: false, refuses: false, finish: null, calls: new Map() };
    this.#choices.set(choice, state);
    return state;
  }

  /** After the first text that does not fit, none does. */
  #fits(length: number): boolean {
    if (this.#room >= 0) this.#room -= length;
    return this.#room >= 0;
  }
}

/** Whether an answer shows each signal; null where one of its choices could not be decided. */
type SignalFindings = Partial<Record<keyof SignalSwitches, boolean | null>>;

/** Notes whether a choice shows a signal: one bad choice makes a bad answer. */
function note(found: SignalFindings, signal: keyof SignalSwitches, isBad: boolean | null): void {
  const before = found[signal];
  found[signal] = before === true || isBad === true || (before === null || isBad === null ? null : false);
}

/** The signals that could be decided. */
const decided = ({ schema, tool_arguments, refusal, empty }: SignalFindings): AnswerSignals => ({
  schema: schema ?? undefined,
  tool_arguments: tool_arguments ?? undefined,
  refusal: refusal ?? undefined,
  empty: empty ?? undefined,
});

/** Whether a text lacks the required form; null where that cannot be decided. */
function isUnformed(
  text: string,
  { settings: { answerFormat: format } }: ModelRequest,
  steps: StepBudget,
): boolean | null {
  const value = parseJson(text);
  if (value === undefined) return true;
  if (format?.type !== 'json-schema') return !isObject(value);
  return violates(format.schema ?? true, value, steps);
}

/** The schemas of the callable functions by name. */
function toolsOf({ conversation }: ModelRequest): ReadonlyMap<string, unknown> {
  const { tools, toolChoice: choice } = conversation;
  const schemas = new Map<string, unknown>();
  for (const tool of choice === 'none' ? [] : tools) {
    if (typeof choice === 'object' && choice.name !== tool.name) continue;
    // Of two functions with one name, either may be meant.
    schemas.set(tool.name, schemas.has(tool.name) ? true : (tool.parameters ?? true));
  }
  return schemas;
}

/** Whether a call names an unknown function, or has arguments that it does not take. No text counts as an empty object. */
function isMisused(call: Call, tools: ReadonlyMap<string, unknown>, steps: StepBudget): boolean | null {
  const schema = tools.get(call.name);
  if (schema === undefined) return true;
  const value = call.arguments.trim() === '' ? {} : parseJson(call.arguments);
  return isObject(value) ? violates(schema, value, steps) : true;
}
