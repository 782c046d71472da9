import type { Json } from '../../../plugins/providers/json.ts';
import type { Behaviour } from '../fake-upstream.ts';
import { finishOf, pieces, textOf } from '../openai-wire.ts';

/** A provider's API: what it takes, what it refuses and what it says. */
export interface Dialect {
  /** What a base URL ends in. */
  readonly basePath: string;
  /** What the real API would refuse; null for what it serves. `key`: the only one that is right. */
  refusal(request: WireRequest, key: string | undefined): Failure | null;
  asksForStream(request: WireRequest): boolean;
  asked(request: WireRequest): Asked;
  /** An answer in one piece. */
  reply(request: WireRequest, behaviour: Behaviour): object;
  /** An answer as a stream: each event as it goes over the wire, without the end mark. */
  events(request: WireRequest, behaviour: Behaviour): readonly string[];
  /** What follows the last event. */
  readonly end: string;
  /** The same for one request, where its path decides. */
  endOf?(request: WireRequest): string;
  /** The API's own words for a failure. */
  failure(kind: FailureKind): Failure;
  /** The body of an error of this status, with `fields` over the usual ones. */
  errorBody(status: number, fields: Json): object;
  /** Headers of every answer. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Headers;
  readonly text: string;
  /** Empty if the text is no JSON object. */
  readonly body: Json;
}

export type FailureKind =
  | 'auth'
  | 'billing'
  | 'rejected'
  | 'context'
  | 'not_found'
  | 'rate_limited'
  | 'overloaded'
  | 'server'
  | 'timeout';

export interface Failure {
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What was asked, in the same words for every dialect: a conversation looks alike whichever way it came. */
export interface Asked {
  readonly model: string;
  readonly stream: boolean;
  /** Of all instructions, wherever they stand. */
  readonly system: string;
  /** Neighbours of the same role are one turn; results of tools belong to the user. */
  readonly turns: readonly Turn[];
  /** Names of the tools on offer. */
  readonly tools: readonly string[];
  /** `auto`, `none`, `required`, or the names of the tools that may be called. */
  readonly toolChoice: string | readonly string[];
  /** Tokens; null for no cap. */
  readonly maxTokens: number | null;
  /** The JSON Schema that the answer has to fit; null for none. */
  readonly schema: unknown;
}

export interface Turn {
  readonly role: 'user' | 'assistant';
  readonly text: string;
  /** Addresses, `data:` for what came along. */
  readonly media: readonly string[];
  readonly calls: readonly { readonly name: string; readonly input: unknown }[];
  readonly results: readonly { readonly name: string; readonly text: string }[];
}

/** A turn of which the members named are not empty. */
export function turn(role: Turn['role'], members: Partial<Turn>): Turn {
  return { role, text: '', media: [], calls: [], results: [], ...members };
}

export function mergedTurns(turns: readonly Turn[]): readonly Turn[] {
  const merged: Turn[] = [];
  for (const next of turns) {
    const last = merged.at(-1);
    if (last?.role !== next.role) merged.push(next);
    else {
      merged[merged.length - 1] = {
        role: last.role,
        text: lines(last.text, next.text),
        media: [...last.media, ...next.media],
        calls: [...last.calls, ...next.calls],
        results: [...last.results, ...next.results],
      };
    }
  }
  return merged;
}

/** Texts below each other, without the empty ones. */
export const lines = (...texts: readonly string[]): string => texts.filter((text) => text !== '').join('\n');

export const dataUrl = (type: unknown, data: unknown): string => `data:${String(type)};base64,${String(data)}`;

/** What a behaviour makes the model say, in pieces, and what it reports. */
export interface Script {
  readonly reasoning: readonly string[];
  readonly text: readonly string[];
  readonly calls: readonly { readonly id?: string; readonly name: string; readonly arguments: string }[];
  /** In OpenAI's words, or the dialect's own. */
  readonly finish: string;
  /** Null: none is reported. */
  readonly tokens: Tokens | null;
}

/** OpenAI's counts: the prompt's include those cached and written to the cache, the completion's the reasoning. */
export interface Tokens {
  readonly prompt: number;
  readonly cached: number;
  readonly written: number;
  readonly completion: number;
  readonly reasoning: number;
}

export function scriptOf({ text: body }: WireRequest, behaviour: Behaviour): Script {
  const { toolCalls: calls = [], refusal } = behaviour;
  const reasoning = pieces(behaviour.reasoning ?? '');
  const text = calls.length > 0 || refusal !== undefined ? [] : textOf(behaviour);
  const finish = behaviour.finish ?? (refusal === undefined ? finishOf(behaviour) : 'content_filter');
  const script = { reasoning, text, calls, finish };
  if (behaviour.usage === 'missing') return { ...script, tokens: null };
  const { prompt_tokens, completion_tokens, prompt_tokens_details, completion_tokens_details } = behaviour.usage ?? {};
  const spoken = text.length + calls.flatMap((call) => pieces(call.arguments)).length;
  const prompt = detailsOf(prompt_tokens_details);
  return {
    ...script,
    tokens: {
      prompt: count(prompt_tokens, Math.ceil(body.length / 4)),
      cached: count(prompt.cached_tokens, 0),
      written: count(prompt.cache_write_tokens, 0),
      completion: count(completion_tokens, Math.max(1, reasoning.length + spoken)),
      reasoning: count(detailsOf(completion_tokens_details).reasoning_tokens, reasoning.length),
    },
  };
}

const count = (value: unknown, otherwise: number): number => (typeof value === 'number' ? value : otherwise);
const detailsOf = (value: unknown): Json => Object(value);

/** Thrown by a rule that a request breaks. */
export class Refusal extends Error {
  readonly failure: Failure;

  constructor(message: string, failure: Failure) {
    super(message);
    this.failure = failure;
  }
}

/** The failure that a check throws; null if it throws none. */
export function refusalBy(check: () => void): Failure | null {
  try {
    check();
    return null;
  } catch (error) {
    if (error instanceof Refusal) return error.failure;
    throw error;
  }
}
