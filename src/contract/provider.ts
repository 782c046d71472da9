import type { Static, TObject } from '@sinclair/typebox';
import type { AbortBilling } from '../core/abort-billing.ts';
import type { Capability } from '../core/capability.ts';
import type { EmbeddingInput } from '../core/embedding.ts';
import type { ModelRequest } from '../core/model-request.ts';
import type { ProviderFailure, StreamPart } from './parts.ts';
import type { PluginStatus } from './status.ts';

/** One completion to ask of one upstream model. */
export interface ProviderCall {
  /** The provider's own name of the model. */
  readonly upstream: string;
  /**
   * The request in neutral form. An adapter that speaks the dialect of `request.original` may send that on, so that
   * members without a neutral name go along; others translate. `routing` is for the gateway alone.
   */
  readonly request: ModelRequest;
  /** Fields unknown to the gateway that this provider's `passthrough` list lets through. */
  readonly extras: Readonly<Record<string, unknown>>;
  readonly stream: boolean;
  /** Output tokens of one choice at most. Must reach the upstream: the hold relies on it. */
  readonly outputCap: number;
  readonly model: ModelTraits;
  /** A selector chose the model: its caller could not know what it takes. Absent where the caller named the model. */
  readonly isSelected?: true;
}

/** One batch of texts to embed by one upstream model. */
export interface EmbeddingCall extends ProviderCall {
  /** A part of the request's inputs, in their order. */
  readonly inputs: readonly EmbeddingInput[];
  /** The length that each vector must have. */
  readonly dimensions: number;
  /** Whether that is less than the model's own length, so that the upstream must be told. */
  readonly isShortened: boolean;
}

/** The part of a wire adapter that embeds. A model with the operation `embed` needs it. */
export interface EmbeddingAdapter {
  /** Translates a batch. Pure, as `WireAdapter.request`. */
  request(call: EmbeddingCall): BuiltRequest;
  /** Translates an answer: an `embedding` for each text, a `finish`, and a `usage` where the upstream reports one. */
  reply(body: string): readonly StreamPart[];
}

/** The part of a wire adapter that has its service count a prompt, without an answer and without a price. */
export interface TokenCountAdapter {
  /** Translates a prompt. Pure, as `WireAdapter.request`; `outputCap` and `stream` of the call say nothing. */
  request(call: ProviderCall): BuiltRequest;
  /** Reads the input tokens from an answer with a status of 2xx; null where it does not state them. */
  reply(body: string): number | null;
  /**
   * The most that the service may bill for a prompt beyond its count. With it, the count bounds the money that is held for a
   * prompt with PDFs; a service that bills more is paid by the operator. Absent: a count is an estimate, and bounds nothing.
   */
  readonly margin?: CountMargin;
}

/** What a service may bill beyond its count: both figures together. */
export interface CountMargin {
  readonly tokens: number;
  /** Of the count, from 0. */
  readonly share: number;
}

/** The part of a wire adapter that reads the service's own list of models, for `signalbox catalog sync`. */
export interface ModelListAdapter {
  /** Headers of the request, beside the key. */
  readonly headers: Readonly<Record<string, string>>;
  /** The path of a page below the provider's base URL. @param after `next` of the page before; null for the first page */
  path(after: string | null): string;
  /** Reads a page; null where the body is no such list. */
  read(body: string): ModelListPage | null;
}

export interface ModelListPage {
  readonly models: readonly ListedModel[];
  /** The parameter of `path` for the next page; null for the last one. */
  readonly next: string | null;
}

/** A model as its service lists it. Members that the service does not state are absent. */
export interface ListedModel {
  readonly id: string;
  /** USD per token, as the decimals of the list. */
  readonly price?: { readonly input: string; readonly output: string } & Readonly<
    Partial<Record<'cachedInput' | 'cacheWrite' | 'perRequest', string>>
  >;
  /** Tokens of input and output together. */
  readonly contextWindow?: number;
  /** The most tokens of an answer. */
  readonly maxOutput?: number;
  /** All that the model has. */
  readonly capabilities?: readonly Capability[];
  /** Such as `2026-11-20`. */
  readonly released?: string;
  /** Why it answers no conversations: its use, such as `embeddings`, or `retired`. */
  readonly unfit?: string;
}

/** The traits of a model by the catalog. */
export interface ModelTraits {
  readonly capabilities: readonly Capability[];
  /** Features of the dialect that the model lacks, by the catalog. */
  readonly lacks: readonly Capability[];
  /** False: a temperature is refused and must be left out. */
  readonly acceptsTemperature: boolean;
  /** Pace for answers made in-process. */
  readonly ttftMs: number;
  readonly outputTokensPerSecond: number;
}

/** The settings of a known service, by a name that policies use: `preset: groq`. Keys of the policy override them. */
export interface ProviderPreset {
  /** Its public address. */
  readonly baseUrl?: string;
  /** The variable that holds its address, for a service without a public one. */
  readonly baseUrlEnv?: string;
  /** The path of its API, for an address in that variable that names only the host: `/v1`. */
  readonly basePath?: string;
  /** The variable that holds its key; absent for a service without keys. */
  readonly apiKeyEnv?: string;
  /** Whether the name in its address may lead to this machine or into a private network. */
  readonly allowPrivateNetwork?: boolean;
  /** Request fields unknown to the gateway that it understands and that do not change the bill. */
  readonly passthrough?: readonly string[];
  /** Its prompt cache: the lifetime after the last reading, seconds, and the least prompt, tokens. */
  readonly cache?: { readonly ttlS: number; readonly tokensMin: number };
  /** Settings of the adapter that differ from its defaults. */
  readonly settings?: Readonly<Record<string, unknown>>;
}

/** A request on the wire. The host adds the address, the key and its own headers. */
export interface HttpCall {
  /** Below the provider's base URL, such as `/chat/completions`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Fields of the request that were left out, as the caller names them: `request.names.topP`, `pathText(part.at)`. */
  readonly dropped: readonly string[];
  /**
   * The body is that of the caller, in its dialect, but for what routing and money need. Its answer goes out in that dialect,
   * too: `reply`, `stream` and `failure` are told so, and add what came.
   */
  readonly passthrough?: true;
}

/** A request as an adapter makes it, or why it cannot. */
export type BuiltRequest = HttpCall | ProviderFailure;

/** One event of a stream, as framed by the host. */
export interface Frame {
  /** The `event:` of an SSE frame; empty for none. */
  readonly event: string;
  readonly data: string;
}

/** A reducer over the frames of one stream. */
export interface StreamReader {
  /** Returns the parts of one event; empty for an event without any. */
  read(frame: Frame): readonly StreamPart[];
}

/** An adapter that speaks a dialect over HTTP and only translates: it opens no connection and keeps no state. */
export interface WireAdapter {
  readonly kind: 'wire';
  /** Requests of the same dialect may carry `extras`. */
  readonly dialect: string;
  readonly frames: 'sse' | 'ndjson';
  /** Where the key goes; the host puts it there. Absent for a service without keys: a policy that names one is refused. */
  readonly auth?: { readonly header: string; readonly prefix: string };
  /**
   * Translates a request. Pure.
   *
   * @returns the call; or a failure of kind `rejected` whose message begins with the path of the field that the dialect
   * cannot express
   * @example
   * ```ts
   * request: ({ upstream, request, outputCap, stream }) => ({
   *   path: '/say',
   *   headers: {},
   *   body: JSON.stringify({
   *     model: upstream,
   *     lines: request.conversation.turns.map(({ role, parts }) => ({ role, text: turnText(parts) })),
   *     limit: outputCap,
   *     stream,
   *   }),
   *   dropped: request.settings.topP === undefined ? [] : [request.names.topP],
   * }),
   * ```
   */
  request(call: ProviderCall): BuiltRequest;
  /** Translates the body of an unstreamed answer with a status of 2xx. @returns a `failure` part for an invalid one */
  reply(body: string, passthrough?: boolean): readonly StreamPart[];
  /** Makes the reader of one stream. @param passthrough whether the answer has `passthrough` parts, too */
  stream(passthrough?: boolean): StreamReader;
  /** Classifies an answer with a status outside 2xx. @param passthrough whether a refusal bears the `original` */
  failure(status: number, headers: Headers, body: string, passthrough?: boolean): ProviderFailure;
  /** Absent where the dialect has no embeddings. */
  readonly embeddings?: EmbeddingAdapter;
  /** Absent where the service counts no prompts: the gateway then estimates. */
  readonly tokenCount?: TokenCountAdapter;
  /** Absent where the service has no list of models. */
  readonly modelList?: ModelListAdapter;
}

/**
 * A wait between two parts of an in-process answer. Adapters have no timers: they say how long
 * to wait, and the host waits, within the deadlines of the call. Usage must be due within a second of the last `finish`.
 */
export interface Pause {
  readonly type: 'pause';
  /** Milliseconds after the previous pause was due: a late reader does not slow the answer down. */
  readonly ms: number;
}

/** An adapter that answers in this process. */
export interface InProcessAdapter {
  readonly kind: 'in-process';
  /** Fields of the request that the answer will not heed; for `platform.dropped`. */
  dropped?(call: ProviderCall): readonly string[];
  /**
   * Makes the parts of one answer, lazily and synchronously; as everywhere, every choice must end
   * with a `finish`. The host takes parts as the caller reads them, and stops iterating (the
   * iterator's `return`) once the call is aborted or late. A throw becomes a failure of kind
   * `server`.
   */
  answer(call: ProviderCall): Iterable<StreamPart | Pause>;
  /** Makes the parts of one batch of embeddings: an `embedding` for each text, then a `finish` and a `usage`. */
  embed?(call: EmbeddingCall): Iterable<StreamPart | Pause>;
}

export type PreparedProvider = (WireAdapter | InProcessAdapter) & {
  /**
   * Returns the capabilities that a model lacks at this provider, whatever the catalog says: it does not get requests that
   * need them. None if left out.
   *
   * @param upstream the provider's own name of the model
   */
  lacks?(model: ModelTraits, upstream: string): readonly Capability[];
  /**
   * The capabilities of the kind `passthrough` that a model has at this provider: the dialects whose requests go out as they
   * came. None if left out.
   *
   * @param upstream as in `lacks`
   */
  passes?(model: ModelTraits, upstream: string): readonly Capability[];
  /**
   * Whether the service takes these stop sequences, none of them empty: the gateway cuts the answer at those that it does not take,
   * as at all of a model that lacks `stop`, and leaves them out of the call. Any are taken if left out.
   */
  takesStops?(stops: readonly string[]): boolean;
  /**
   * The service's bill for an answer that the gateway aborts; `unknown` if left out. Declare `stops` only for a service that
   * says so: the money of an answer is then set aside as it is written, and a service that bills more is paid by the operator.
   */
  readonly afterAbort?: AbortBilling;
};

export interface ProviderPlugin<Settings extends TObject = TObject> {
  readonly kind: 'provider';
  /** The version of the contract that the plugin is made for. */
  readonly contract: 2;
  readonly name: string;
  readonly status: PluginStatus;
  /** Checks the adapter's own settings in the policy; its defaults are applied before `prepare`. */
  readonly settings: Settings;
  /** Services that speak the dialect, by name. One that bears the plugin's own name is meant where a policy names none. */
  readonly presets?: Readonly<Record<string, ProviderPreset>>;
  prepare(settings: Static<Settings>): PreparedProvider;
}

/**
 * Declares a provider adapter.
 *
 * @example
 * ```ts
 * export const mine = defineProvider({
 *   contract: 2,
 *   name: 'mine',
 *   status: 'alpha',
 *   settings: Type.Object({}, { additionalProperties: false }),
 *   prepare: () => ({ kind: 'wire', dialect: 'mine', frames: 'sse', auth, request, reply, stream, failure }),
 * });
 * ```
 */
export function defineProvider<Settings extends TObject>(
  plugin: Omit<ProviderPlugin<Settings>, 'kind'>,
): ProviderPlugin<Settings> {
  return { kind: 'provider', ...plugin };
}
