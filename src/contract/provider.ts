import type { Static, TObject } from '@sinclair/typebox';
import type { TextOperation } from '../core/kinds/operations.ts';
import type { AbortBilling } from '../core/money/abort-billing.ts';
import type { Capability } from '../core/request/capability.ts';
import type { EmbeddingInput } from '../core/request/embedding.ts';
import type { ModelRequest } from '../core/request/model-request.ts';
import type { ModelServerAdapter } from './model-server.ts';
import type { ProviderFailure, StreamPart } from './parts.ts';
import type { PluginStatus } from './status.ts';

/** One completion that the gateway requests from one upstream model. */
export interface ProviderCall {
  /** The provider's own name of the model. */
  readonly upstream: string;
  /**
   * The request in neutral form. An adapter that speaks the dialect of `request.original` may send the original body, which keeps members
   * that have no neutral name. Adapters that speak another dialect translate the neutral form. Only the gateway reads the member `routing`
   * of the request.
   */
  readonly request: ModelRequest;
  /** Request fields that the gateway does not know and that this provider's `passthrough` list allows. */
  readonly extras: Readonly<Record<string, unknown>>;
  readonly stream: boolean;
  /** Maximum output tokens of one choice. The adapter must send `outputCap` upstream, because the hold relies on this limit. */
  readonly outputCap: number;
  readonly model: ModelTraits;
  /**
   * The service tier to request, which `serviceTiers` of the adapter takes: `default`, or a tier such as `flex`. The adapter must send it,
   * because the hold relies on it. Absent: the adapter leaves its field out.
   */
  readonly serviceTier?: string | undefined;
  /**
   * Whether a selector chose the model, so that the caller could not know which fields it accepts. `isSelected` is absent if the caller
   * named the model.
   */
  readonly isSelected?: true;
}

/** One batch of texts that one upstream model embeds. */
export interface EmbeddingCall extends ProviderCall {
  /** Some or all of the request's inputs, in their order. */
  readonly inputs: readonly EmbeddingInput[];
  /** The length that each vector must have. */
  readonly dimensions: number;
  /** Whether `dimensions` is less than the model's own length. The adapter must send `dimensions` upstream if `isShortened` is true. */
  readonly isShortened: boolean;
}

/** The part of a wire adapter for an operation that is no chat: a request and a JSON answer. */
export interface OperationAdapter<Call extends ProviderCall> {
  /** Translates a call to a request. This function is pure, like `WireAdapter.request`. */
  request(call: Call): BuiltRequest;
  /** Translates an answer: the parts of the operation, a `finish`, and a `usage` if the upstream reports one. */
  reply(body: string): readonly StreamPart[];
}

/**
 * The part of a wire adapter that embeds texts. Models with the operation `embed` need an embedding adapter. Its answer has an `embedding`
 * for each text.
 */
export type EmbeddingAdapter = OperationAdapter<EmbeddingCall>;

/** The part of a wire adapter that has its service count the tokens of a prompt, free of charge and without an answer. */
export interface TokenCountAdapter {
  /**
   * Translates a prompt to a request for its token count. This function is pure, like `WireAdapter.request`. Ignore `outputCap` and
   * `stream` of the call.
   */
  request(call: ProviderCall): BuiltRequest;
  /** Reads the input tokens from an answer with a 2xx status; null if the answer does not state them. */
  reply(body: string): number | null;
  /**
   * The most that the service may bill for a prompt beyond its count. If `margin` is set, the gateway uses the count as an upper bound for
   * prompts with PDFs and holds no more money. The operator pays if a service bills more than the count and its margin. If `margin` is
   * absent, a count is only an estimate.
   */
  readonly margin?: CountMargin;
}

/** Input tokens that a service may bill beyond its count: the sum of both figures. */
export interface CountMargin {
  readonly tokens: number;
  /** The fraction of the count by which the bill may exceed it, from 0. */
  readonly share: number;
}

/** The part of a wire adapter that reads the service's own list of models, for `signalbox catalog update`. */
export interface ModelListAdapter {
  /** Headers of the request, in addition to the key. */
  readonly headers: Readonly<Record<string, string>>;
  /** The path of a page, relative to the provider's base URL. @param after `next` of the previous page; null for the first page */
  path(after: string | null): string;
  /** Reads a page of the list; null if the body is not a list of models. */
  read(body: string): ModelListPage | null;
}

export interface ModelListPage {
  readonly models: readonly ListedModel[];
  /** The `after` parameter of `path` for the next page; null on the last page. */
  readonly next: string | null;
}

/** A model in the service's own list. Members that the service does not state are absent. */
export interface ListedModel {
  readonly id: string;
  /** USD per token, as the decimals in the service's list. */
  readonly price?: { readonly input: string; readonly output: string } & Readonly<
    Partial<Record<'cachedInput' | 'cacheWrite' | 'perRequest', string>>
  >;
  /** The most tokens of input and output together. */
  readonly contextWindow?: number;
  /** Maximum tokens of an answer. */
  readonly maxOutput?: number;
  /** All capabilities that the service's list states for the model. */
  readonly capabilities?: readonly Capability[];
  /** Release date, such as `2026-11-20`. */
  readonly released?: string;
  /** The reason why the model cannot answer conversations: its purpose, such as `embeddings`, or `retired`. */
  readonly unfit?: string;
}

/** The traits of a model according to the catalog. */
export interface ModelTraits {
  readonly capabilities: readonly Capability[];
  /** Features of the dialect that the model lacks, according to the catalog. */
  readonly lacks: readonly Capability[];
  /** False if the model refuses a temperature; the adapter must then leave the temperature out. */
  readonly acceptsTemperature: boolean;
  /** Time to the first token in ms, for answers that an adapter makes in this process. */
  readonly ttftMs: number;
  readonly outputTokensPerSecond: number;
}

/**
 * The settings of a known service, under a name that policies use: `preset: groq`. Keys in the policy override the settings of a preset.
 */
export interface ProviderPreset {
  /** The service's public address. */
  readonly baseUrl?: string;
  /** A path that `baseUrl` ended with in earlier versions. An operator may still state the public address with this path. */
  readonly formerPath?: string;
  /** The environment variable that holds the address, for a service without a public address. */
  readonly baseUrlEnv?: string;
  /** The path of the API, such as `/v1`. The gateway appends `basePath` if the address in `baseUrlEnv` has only a host. */
  readonly basePath?: string;
  /** The environment variable that holds the API key; absent for a service without keys. */
  readonly apiKeyEnv?: string;
  /** Whether the host name may resolve to this machine or a private network. */
  readonly allowPrivateNetwork?: boolean;
  /** Request fields that the gateway does not know, that the service understands, and that do not change the bill. */
  readonly passthrough?: readonly string[];
  /** The service's prompt cache: its lifetime after the last read, in seconds, and the shortest prompt that it caches, in tokens. */
  readonly cache?: { readonly ttlS: number; readonly tokensMin: number };
  /** Settings of the adapter that differ from its defaults. */
  readonly settings?: Readonly<Record<string, unknown>>;
}

/** An HTTP request. The host adds the address, the key and its own headers. */
export interface HttpCall {
  /** Path relative to the provider's base URL, such as `/chat/completions`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /**
   * The body in pieces of UTF-8, and then `body` is empty. `writeJson` returns both: it copies the bytes of messages that the adapter passes
   * on unchanged, which takes less time than writing them.
   */
  readonly pieces?: readonly (string | Uint8Array)[];
  /** Request fields that the adapter left out, under the caller's names: `request.names.topP`, `pathText(part.at)`. */
  readonly dropped: readonly string[];
  /**
   * The body is the caller's own, in its dialect; only what routing and money need is changed. The answer also stays in that dialect: the
   * gateway passes `passthrough` to `reply`, `stream` and `failure`, which then add the service's original events.
   */
  readonly passthrough?: true;
}

/** The request that an adapter makes, or the reason why it cannot. */
export type BuiltRequest = HttpCall | ProviderFailure;

/** One event of a stream. The host splits the stream into frames. */
export interface Frame {
  /** The `event:` of an SSE frame; empty if the frame has none. */
  readonly event: string;
  readonly data: string;
}

/** A reducer over the frames of one stream. */
export interface StreamReader {
  /** Returns the parts of one event, or an empty list. */
  read(frame: Frame): readonly StreamPart[];
  /**
   * The form of the next events that add only a text. The gateway may read events of this form itself, so that they need no parsing. Null or
   * absent: `read` gets every event.
   */
  readonly textForm?: TextForm | null;
}

/**
 * The form of events without a name that add only a text, and change nothing else in their reader: the data is `before`, the text as in a
 * JSON string, and `after`.
 */
export interface TextForm {
  /** The choice of the text. */
  readonly choice: number;
  /** Ends with the quote that begins the text. */
  readonly before: string;
  /** Begins with the quote that ends the text. */
  readonly after: string;
  /**
   * Some services add a member with random letters to each event, so that the length of the event says nothing about its text. `after` then
   * ends with the quote that begins the letters, and `afterPadding` begins with the quote that ends them. Absent: no such member.
   */
  readonly afterPadding?: string;
}

/** The header of a key, and the text before the key. */
export interface KeyHeader {
  readonly header: string;
  readonly prefix: string;
}

/** An adapter that speaks a dialect over HTTP and only translates: it opens no connection and keeps no state. */
export interface WireAdapter {
  readonly kind: 'wire';
  /** The dialect that the adapter writes. Only requests that came in the adapter's own dialect may carry `extras`. */
  readonly dialect: string;
  readonly frames: 'sse' | 'ndjson';
  /**
   * The header in which the host sends the API key. `auth` is absent for a service without keys: Signalbox then refuses a policy that names
   * a key.
   */
  readonly auth?: KeyHeader & {
    /** The header of a token that a token source fetched, for a service that expects tokens in another header than keys. */
    readonly token?: KeyHeader;
  };
  /**
   * Translates a request of the gateway to a request of the service. This function is pure.
   *
   * @returns the HTTP call; or a failure of kind `rejected` whose message begins with the path of the field that the dialect cannot express
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
  /** Translates the body of a non-streamed answer with a 2xx status. @returns a `failure` part for an invalid body */
  reply(body: string, passthrough?: boolean): readonly StreamPart[];
  /** Makes the reader of one stream. @param passthrough whether the reader also returns `passthrough` parts */
  stream(passthrough?: boolean): StreamReader;
  /** Classifies an answer with a status other than 2xx. @param passthrough whether a refusal includes the `original` body */
  failure(status: number, headers: Headers, body: string, passthrough?: boolean): ProviderFailure;
  /** `embeddings` is absent if the dialect has no embeddings. */
  readonly embeddings?: EmbeddingAdapter;
  /** `tokenCount` is absent if the service cannot count prompts: the gateway then estimates. */
  readonly tokenCount?: TokenCountAdapter;
  /** `modelList` is absent if the service has no list of models. */
  readonly modelList?: ModelListAdapter;
  /** `modelServer` is absent if Signalbox cannot find the models of the service: see `discover` in a policy. */
  readonly modelServer?: ModelServerAdapter;
}

/**
 * A wait between two parts of an in-process answer. Adapters have no timers: they state how long to wait, and the host waits, within the
 * deadlines of the call. The adapter must return usage within a second of the last `finish`.
 */
export interface Pause {
  readonly type: 'pause';
  /** Milliseconds after the time at which the previous pause was due, so that a slow reader does not delay the answer. */
  readonly ms: number;
}

/** An adapter that creates answers in this process. */
export interface InProcessAdapter {
  readonly kind: 'in-process';
  /** Request fields that the answer ignores, for `platform.dropped`. */
  dropped?(call: ProviderCall): readonly string[];
  /**
   * Makes the parts of one answer, lazily and synchronously. Every choice of the answer must end with a `finish`. The host takes parts of
   * the answer as the caller reads them, and stops iterating (calls the iterator's `return`) when the call is aborted or exceeds a
   * deadline. The host turns an exception into a failure of kind `server`.
   */
  answer(call: ProviderCall): Iterable<StreamPart | Pause>;
  /** Makes the parts of one batch of embeddings: an `embedding` for each text, then a `finish` and a `usage`. */
  embed?(call: EmbeddingCall): Iterable<StreamPart | Pause>;
}

/** The part of an adapter that serves an operation which is no chat; undefined if the adapter lacks the operation. */
export interface PartOf<Call extends ProviderCall> {
  wire(adapter: WireAdapter): OperationAdapter<Call> | undefined;
  inProcess(adapter: InProcessAdapter): ((call: Call) => Iterable<StreamPart | Pause>) | undefined;
}

/** The parts of adapters for operations on separate texts. */
export const OPERATION_PARTS = {
  embed: {
    wire: ({ embeddings }: WireAdapter) => embeddings,
    inProcess: (adapter: InProcessAdapter) => adapter.embed?.bind(adapter),
  },
} satisfies Readonly<Record<TextOperation, PartOf<never>>>;

export type PreparedProvider = (WireAdapter | InProcessAdapter) & {
  /**
   * Returns the capabilities that a model lacks at this provider, even if the catalog lists them. The gateway does not send requests that
   * need these capabilities to the endpoint. Without `lacks`, a model has all capabilities that the catalog lists.
   *
   * @param upstream the provider's own name of the model
   */
  lacks?(model: ModelTraits, upstream: string): readonly Capability[];
  /**
   * Returns the `passthrough` capabilities that a model has at this provider: the dialects whose requests the adapter passes through
   * unchanged. Without `passes`, a model has no `passthrough` capabilities.
   *
   * @param upstream the provider's own name of the model
   */
  passes?(model: ModelTraits, upstream: string): readonly Capability[];
  /**
   * Whether the service accepts these stop sequences, none of them empty. The gateway leaves refused sequences out of the call and cuts the
   * answer at them itself, as it does with all stop sequences for a model that lacks `stop`. Without `takesStops`, the service accepts all
   * stop sequences.
   */
  takesStops?(stops: readonly string[]): boolean;
  /** The service tiers of the adapter's service. Without `serviceTiers`, requests for a tier are sent without it. */
  readonly serviceTiers?: ServiceTiers | undefined;
  /**
   * The part of an answer that the service bills if the gateway aborts it. Without `afterAbort`, the gateway assumes `unknown`. Declare `stops` only
   * for a service that documents it: the gateway then reserves money in steps as the answer grows, and the operator pays if the service
   * bills more than the stated margin.
   */
  readonly afterAbort?: AbortBilling;
};

/** The service tiers that requests to a service can ask for: other speeds at other prices. */
export interface ServiceTiers {
  /**
   * Whether the adapter can ask for a tier: `auto`, `default`, or a name that requests and policies use, such as `flex`. The gateway leaves
   * other tiers out and names them in `platform.dropped`.
   */
  takes(tier: string): boolean;
  /**
   * The tier to request if a budget or balance pays and the request asks for none or for `auto`. Set it for a service whose account has a
   * setting that would otherwise choose the tier, and so the price. If no fund pays, an answer that states no tier is charged at the most
   * expensive price of the model.
   */
  readonly usual?: string;
}

export interface ProviderPlugin<Settings extends TObject = TObject> {
  readonly kind: 'provider';
  /** The version of the contract that the plugin is written for. */
  readonly contract: 2;
  readonly name: string;
  readonly status: PluginStatus;
  /** Schema of the adapter's own settings in the policy. The host applies the defaults before it calls `prepare`. */
  readonly settings: Settings;
  /** Services that speak the dialect, by name. If a policy names no preset, the preset with the plugin's own name applies. */
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
