import type { FinishReason, StreamPart } from '../../contract/parts.ts';
import type { LearningPolicy } from '../../core/learning-policy.ts';
import type { ModelRequest } from '../../core/model-request.ts';
import { isObject } from '../../core/object.ts';
import type { AnswerSignals } from '../../learning/learner.ts';
import { StepBudget } from './json.ts';
import { violates } from './schema-check.ts';

/** Characters of an answer that are kept to be checked. Of a longer one neither form nor arguments are judged. */
const KEPT_MAX = 65_536;
/** As how many characters a call counts. */
const CALL_COST = 64;
/** Choices that are looked at. */
const CHOICES_MAX = 128;
/** StepBudget of all checks of one answer: some milliseconds at most. */
const STEPS_MAX = 20_000;

/** Follows one answer. */
export interface AnswerWatch {
  /** What the caller gets to see. */
  hear(parts: readonly StreamPart[]): void;
  /** Whether it has what it was watched for; nothing of what cannot be judged. For the end of an answer. */
  verdict(): AnswerSignals;
}

/** Null where nothing is looked for in the answer. */
export function watchAnswer({ mode, signals }: LearningPolicy, request: ModelRequest): AnswerWatch | null {
  if (mode === 'off') return null;
  const { answerFormat: format, stop } = request.settings;
  // What a caller's own stop sequence cuts is no model's fault.
  const mayBeCut = stop !== undefined && stop.length > 0;
  const watched: Watched = {
    schema: signals.schema > 0 && !mayBeCut && format !== undefined && format.type !== 'text',
    tool_arguments: signals.tool_arguments > 0 && !mayBeCut,
    refusal: signals.refusal > 0,
    empty: signals.empty > 0 && !mayBeCut,
  };
  return Object.values(watched).some(Boolean) ? new Watch(watched, request) : null;
}

type Watched = Readonly<Record<'schema' | 'tool_arguments' | 'refusal' | 'empty', boolean>>;

interface Call {
  name: string;
  arguments: string;
}

interface Heard {
  text: string;
  /** Says something beside spaces. */
  speaks: boolean;
  refuses: boolean;
  finish: FinishReason | null;
  readonly calls: Map<number, Call>;
}

class Watch implements AnswerWatch {
  readonly #watched: Watched;
  readonly #request: ModelRequest;
  readonly #choices = new Map<number, Heard>();
  #room = KEPT_MAX;

  constructor(watched: Watched, request: ModelRequest) {
    this.#watched = watched;
    this.#request = request;
  }

  hear(parts: readonly StreamPart[]): void {
    for (const part of parts) {
      if (part.type === 'text') this.#hearText(part);
      else if (part.type === 'tool-call') this.#hearCall(part);
      else if (part.type === 'refusal') this.#with(part.choice, (heard) => (heard.refuses ||= part.text !== ''));
      else if (part.type === 'finish') this.#with(part.choice, (heard) => (heard.finish = part.reason));
    }
  }

  verdict(): AnswerSignals {
    const { schema, tool_arguments: calls, refusal, empty } = this.#watched;
    const choices = [...this.#choices.values()];
    const ended = choices.filter(({ finish }) => finish !== null);
    const stopped = ended.filter(({ finish }) => finish === 'stop');
    const isWhole = this.#room >= 0;
    const steps = new StepBudget(STEPS_MAX);
    const spoken = stopped.filter((one) => one.speaks && !one.refuses && one.calls.size === 0);
    const called = ended
      .filter(({ finish }) => finish === 'stop' || finish === 'tool_calls')
      .flatMap((one) => [...one.calls.values()]);
    const tools = calls && isWhole && called.length > 0 ? toolsOf(this.#request) : null;
    const isRefused = ({ refuses, finish }: Heard) => refuses || finish === 'content_filter';
    const isEmpty = (one: Heard) => !one.speaks && !one.refuses && one.calls.size === 0;
    return {
      ...(schema && isWhole && told('schema', spoken, ({ text }) => isUnformed(text, this.#request, steps))),
      ...(tools && told('tool_arguments', called, (call) => isMisused(call, tools, steps))),
      ...(refusal && told('refusal', ended, isRefused)),
      ...(empty && told('empty', stopped, isEmpty)),
    };
  }

  #hearText({ choice, text }: Extract<StreamPart, { type: 'text' }>): void {
    this.#with(choice, (heard) => {
      heard.speaks ||= /\S/.test(text);
      if (this.#watched.schema && this.#fits(text.length)) heard.text += text;
    });
  }

  #hearCall({ choice, index, name, arguments: piece }: Extract<StreamPart, { type: 'tool-call' }>): void {
    this.#with(choice, ({ calls }) => {
      let call = calls.get(index);
      if (!call) {
        if (!this.#fits(CALL_COST)) return;
        call = { name: '', arguments: '' };
        calls.set(index, call);
      }
      if (name !== undefined) call.name = name;
      if (this.#watched.tool_arguments && this.#fits(piece.length)) call.arguments += piece;
    });
  }

  #with(choice: number, deed: (heard: Heard) => void): void {
    let heard = this.#choices.get(choice);
    if (!heard) {
      if (this.#choices.size >= CHOICES_MAX) return;
      heard = { text: '', speaks: false, refuses: false, finish: null, calls: new Map() };
      this.#choices.set(choice, heard);
    }
    deed(heard);
  }

  /** Once something does not fit, nothing does. */
  #fits(length: number): boolean {
    if (this.#room >= 0) this.#room -= length;
    return this.#room >= 0;
  }
}

/** Whether any of several shows a sign: so that one bad choice makes a bad answer. Nothing of none, or where none of it can be told. */
function told<T>(signal: keyof Watched, among: readonly T[], isBad: (one: T) => boolean | null): AnswerSignals {
  const found = among.map(isBad);
  if (found.includes(true)) return { [signal]: true };
  return found.length === 0 || found.includes(null) ? {} : { [signal]: false };
}

const NOTHING = Symbol('no JSON');

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return NOTHING;
  }
}

/** Whether a text is not of the form that was asked for; null where that cannot be told. */
function isUnformed(
  text: string,
  { settings: { answerFormat: format } }: ModelRequest,
  steps: StepBudget,
): boolean | null {
  const value = parsed(text);
  if (value === NOTHING) return true;
  if (format?.type !== 'json-schema') return !isObject(value);
  return violates(format.schema ?? true, value, steps);
}

/** The schemas of the functions that may be called, by their names. */
function toolsOf({ conversation }: ModelRequest): ReadonlyMap<string, unknown> {
  const { tools, toolChoice: choice } = conversation;
  const schemas = new Map<string, unknown>();
  for (const tool of choice === 'none' ? [] : tools) {
    if (typeof choice === 'object' && choice.name !== tool.name) continue;
    // Of two by one name either may be meant.
    schemas.set(tool.name, schemas.has(tool.name) ? true : (tool.parameters ?? true));
  }
  return schemas;
}

/** Whether a call names no function that there is, or has arguments that it does not take. None at all are an empty object. */
function isMisused(call: Call, tools: ReadonlyMap<string, unknown>, steps: StepBudget): boolean | null {
  const schema = tools.get(call.name);
  if (schema === undefined) return true;
  const value = call.arguments.trim() === '' ? {} : parsed(call.arguments);
  return isObject(value) ? violates(schema, value, steps) : true;
}
