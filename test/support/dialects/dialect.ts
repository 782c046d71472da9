import type { Json } from '../../../plugins/providers/json.ts';
import type { Behaviour } from '../fake-upstream.ts';
import { finishOf, pieces, textOf } from '../openai-wire.ts';

/** A provider's API: the requests that it accepts, the requests that it refuses, and its answers. */
export interface Dialect {
  /** The path at the end of a base URL. */
  readonly basePath: string;
  /** Returns the error of the real API for a request; null for a request that the API serves. `key` is the only valid key. */
  refusal(request: WireRequest, key: string | undefined): Failure | null;
  asksForStream(request: WireRequest): boolean;
  asked(request: WireRequest): Asked;
  /** Returns an answer in one piece. */
  reply(request: WireRequest, behaviour: Behaviour): object;
  /** Returns an answer as a stream: each event as the API writes it, without the end mark. */
  events(request: WireRequest, behaviour: Behaviour): readonly string[];
  /** The end mark after the last event. */
  readonly end: string;
  /** Returns the end mark for one request, if it depends on the path. */
  endOf?(request: WireRequest): string;
  /** Returns the API's error for a kind of failure. */
  failure(kind: FailureKind): Failure;
  /** Returns an error body for this status; `fields` override the usual ones. */
  errorBody(status: number, fields: Json): object;
  /** Headers that every answer has. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Headers;
  readonly text: string;
  /** Empty if the text is not a JSON object. */
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

/** The content of a request in a form that does not depend on its dialect. */
export interface Asked {
  readonly model: string;
  readonly stream: boolean;
  /** The text of all instructions, wherever the request states them. */
  readonly system: string;
  /** The conversation. Adjacent messages of one role are one turn; tool results belong to the user. */
  readonly turns: readonly Turn[];
  /** The names of the offered tools. */
  readonly tools: readonly string[];
  /** `auto`, `none`, `required`, or the names of the tools that the model may call. */
  readonly toolChoice: string | readonly string[];
  /** The output limit, tokens; null for no limit. */
  readonly maxTokens: number | null;
  /** The JSON Schema that the answer must satisfy; null for none. */
  readonly schema: unknown;
}

export interface Turn {
  readonly role: 'user' | 'assistant';
  readonly text: string;
  /** The URLs of media; a `data:` URL for media in the request itself. */
  readonly media: readonly string[];
  readonly calls: readonly { readonly name: string; readonly input: unknown }[];
  readonly results: readonly { readonly name: string; readonly text: string }[];
}

/** Returns a turn in which all members except the given ones are empty. */
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

/** Joins texts as lines and drops the empty ones. */
export const lines = (...texts: readonly string[]): string => texts.filter((text) => text !== '').join('\n');

export const dataUrl = (type: unknown, data: unknown): string => `data:${String(type)};base64,${String(data)}`;

/** The pieces that the model writes for a behaviour, and the usage that it reports. */
export interface Script {
  readonly reasoning: readonly string[];
  readonly text: readonly string[];
  readonly calls: readonly { readonly id?: string; readonly name: string; readonly arguments: string }[];
  /** The finish reason in OpenAI's terms, or in the terms of the dialect. */
  readonly finish: string;
  /** Null if the answer reports no usage. */
  readonly tokens: Tokens | null;
}

/** OpenAI's counts: `prompt` includes cached tokens and tokens written to the cache, `completion` includes reasoning. */
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

/** A rule throws this error if a request breaks the rule. */
export class Refusal extends Error {
  readonly failure: Failure;

  constructor(message: string, failure: Failure) {
    super(message);
    this.failure = failure;
  }
}

/** Returns the failure that a check throws; null if the check throws nothing. */
export function refusalBy(check: () => void): Failure | null {
  try {
    check();
    return null;
  } catch (error) {
    if (error instanceof Refusal) return error.failure;
    throw error;
  }
}
