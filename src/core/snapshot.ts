import type { AbortBilling } from './abort-billing.ts';
import type { AlertPolicy } from './alert-policy.ts';
import type { Budget, LedgerPolicy } from './budget.ts';
import type { ContentPolicy } from './content.ts';
import type { DroppableName } from './droppable.ts';
import type { EmbeddingModel } from './embedding.ts';
import type { AnswerLengthMode } from './expected-length.ts';
import type { ExplorePolicy } from './exploration.ts';
import type { Languages } from './language-support.ts';
import type { PaymentPolicy } from './payment-policy.ts';
import type { GroupTerms, TeamDeclaration } from './people.ts';
import type { PolicyCase } from './policy-case.ts';
import type { Price } from './price.ts';
import type { AdmissionPolicy, LimitScope, RateLimit } from './rate-limit.ts';
import type { Constraint, Preference } from './rules.ts';
import type { SignInPolicy } from './sign-in-policy.ts';
import type { SourcePlace } from './source-place.ts';
import type { TokenIssuer } from './token-issuer.ts';
import type { Tokenizer } from './tokenizer.ts';

/**
 * A policy, compiled: everything a decision needs, frozen. Nothing on a request's path parses,
 * validates or searches beyond it. Holds names of secrets' variables, never a secret.
 */
export interface PolicySnapshot {
  /** Names the policy's content and the environment it met; equal content has an equal revision. */
  readonly revision: string;
  /** Exact, in plain decimal notation without needless zeros: `0.001`. Charging uses each price's own figures. */
  readonly usdPerCredit: string;
  readonly gateway: GatewayPolicy;
  /** Set where the policy is that of one model of a wildcard, of which nothing is learned. */
  readonly isOfWildcard?: true;
  readonly tasks: readonly Task[];
  /** Task name → index in `tasks`. `general` always exists and is the index 0. */
  readonly taskIndex: ReadonlyMap<string, number>;
  /** The largest `minUsefulOutput` of a task. */
  readonly usefulOutputMax: number;
  /** The smallest `maxOutput` of the models that serve chats; Infinity without one. */
  readonly maxOutputMin: number;
  /** The largest total deadline of a model, those of wildcards included, ms; 0 without a model. */
  readonly totalMsMax: number;
  readonly providers: ReadonlyMap<string, Provider>;
  /** The least tokens of a prompt that some provider caches; Infinity where none does. */
  readonly cachedTokensMin: number;
  /** The models that can be served, by ID in ascending order. */
  readonly models: readonly Model[];
  readonly modelIndex: ReadonlyMap<string, number>;
  /** Models that are no candidates, and are served where a caller names them; null for none. */
  readonly wildcards: Wildcards | null;
  readonly selectors: ReadonlyMap<string, Selector>;
  /** Another name that callers may send as `model` → the selector or model that it stands for, served or not. */
  readonly aliases: ReadonlyMap<string, string>;
  /** The beginning of further such names → the same, the longest first. They cover no name that exists. */
  readonly aliasPatterns: readonly (readonly [start: string, name: string])[];
  /** Whether `aliasPatterns` also cover the names of models with public figures that a wildcard serves. */
  readonly patternsCoverKnown: boolean;
  /** Weights for what `route_strategy` leaves out. */
  readonly defaultWeights: { readonly cost: number; readonly quality: number };
  /** Credits per 1M tokens: the yardstick of "one reference cost". */
  readonly referencePrice: { readonly input: number; readonly output: number };
  /** v: how many reference costs a good answer is worth. */
  readonly answerWorth: number;
  /** How many times as much quality weighs in a hard request, 1 or more; null: only its cost counts half. */
  readonly hardQualityFactor: number | null;
  /** Whether the measured length of a task replaces the declared one. */
  readonly answerLength: AnswerLengthMode;
  /** Quality that a language of the request adds to a model that declares it, 0..1; half of it where unknown. */
  readonly languageWorth: number;
  /** Canonical name → what the models are said of it. A language of no model is not in it: it is unknown of all. */
  readonly languages: Languages;
  /** Index in `models` of the model that savings are measured against; null: the eligible one of the best quality. */
  readonly baseline: number | null;
  /** The label of keys that metrics of spend and requests bear; null for none. */
  readonly keyLabel: string | null;
  readonly recordDays: number;
  /** Days that entries of the trail are kept; null: forever. */
  readonly trailDays: number | null;
  /** Keys of a request's `metadata` that its record keeps. */
  readonly recordedMetadata: readonly string[];
  /** Which texts of requests and answers are kept; null for none. */
  readonly content: ContentPolicy | null;
  /** Whether reports name the sessions and agents of a key; null for those of none. May throw, and then they do not. */
  readonly reportedRuns: ((scope: LimitScope) => boolean) | null;
  readonly constraints: readonly Constraint[];
  readonly preferences: readonly Preference[];
  /** Whether a decision for a model named by the caller depends on what its prompt asks for, beyond the request's own terms. */
  readonly namedModelsReadIntent: boolean;
  readonly budgets: readonly Budget[];
  readonly rateLimits: readonly RateLimit[];
  /** Whether one of them counts callers by their addresses. */
  readonly countsAddresses: boolean;
  readonly ledger: LedgerPolicy;
  /** How agents pay for themselves; null where they cannot. */
  readonly payments: PaymentPolicy | null;
  /** Where people and agents reach this gateway, with the path that a proxy removes, without a slash at its end; null where it is not stated. */
  readonly publicUrl: string | null;
  /** Whether `/console` is served. */
  readonly console: boolean;
  /** Where people find the trace of a request, with `{decision_id}` in the place of its ID; null for nowhere. */
  readonly traceUrl: string | null;
  /** Null where nobody signs in by OpenID. */
  readonly signIn: SignInPolicy | null;
  /** Terms of all callers together. */
  readonly organization: GroupTerms;
  /** Teams of the policy, which the store has under their IDs once it is in force. */
  readonly teams: readonly TeamDeclaration[];
  /** The names of teams that budgets state: each with the ID that it stood for at the load, or null for a team that did not exist yet. */
  readonly teamIds: ReadonlyMap<string, string | null>;
  /** Where the policy states each of them, by name. */
  readonly teamPlaces: ReadonlyMap<string, SourcePlace>;
  /** The issuers of tokens that workloads send in place of keys, each `iss` once. */
  readonly tokens: readonly TokenIssuer[];
  /** What the policy's `learning.explore` says, for decisions of versions that drew models; null for nothing. */
  readonly explore: ExplorePolicy | null;
  /** What people are told of, and where. Decisions do not depend on it. */
  readonly alerts: AlertPolicy;
  readonly cases: readonly PolicyCase[];
  /** Parts of the policy that this environment cannot serve. */
  readonly leftOut: readonly LeftOut[];
}

export interface LeftOut {
  readonly kind: 'provider' | 'model';
  readonly name: string;
  /** For operators: it names the variables that are not set. */
  readonly reason: string;
  /** Of a model, the same for callers, who must not learn the names of variables. */
  readonly toCallers?: string;
}

export interface GatewayPolicy extends AdmissionPolicy {
  readonly bodyBytesMax: number;
  readonly messagesMax: number;
  readonly toolsMax: number;
  /** After this long without a content part, a stream's 200 goes out with heartbeats. */
  readonly commitAfterMs: number;
  /** How a stream ends that failed after its headers, in a dialect without an event for that. */
  readonly failedStreams: 'break' | 'end';
  /** Whether surfaces that have a WebSocket open it. */
  readonly websockets: boolean;
  /** Bytes of the largest message that a WebSocket takes. A server keeps the figure of its start. */
  readonly socketBytesMax: number;
  /** What happens to a model whose maximum output is below the request's: its output is capped, or it is rejected. */
  readonly outputAboveMaximum: 'cap' | 'refuse';
  /** What a repeat with the same `Idempotency-Key` gets while the first request runs: that one's answer after a wait, or 409. */
  readonly repeatsInFlight: 'wait' | 'refuse';
  /** What happens to a forced call of one function at a model that refuses it: it becomes a schema of the answer, or the model is rejected. */
  readonly forcedTools: 'adapt' | 'refuse';
  /** IANA name of the zone that rules read `time` in. */
  readonly timeZone: string;
  /** How many alternatives a decision keeps: a route's `alternatives`, a chat's fallbacks. */
  readonly alternatives: number;
  /** Attempts of a chat beyond the first at each endpoint. */
  readonly retriesMax: number;
  /** Uses of a service's own tool in one answer, where the request states no figure. */
  readonly toolUsesMax: number;
  /** Kinds of tools that are unknown here and pass nevertheless where a fund pays. */
  readonly passthroughTools: ReadonlySet<string>;
  /** Kinds of a service's own tools that are taken out of requests which offer others, too. */
  readonly dropTools: ReadonlySet<string>;
  /** Settings that are taken out of a request for an endpoint that lacks them. */
  readonly dropUnsupported: ReadonlySet<DroppableName>;
  /** Whether images may be given by addresses of private networks. */
  readonly allowPrivateImageUrls: boolean;
  /** Origins whose pages may read answers, as browsers send them: `https://app.example`. */
  readonly corsOrigins: ReadonlySet<string>;
}

export interface Task {
  readonly name: string;
  readonly expectedOutputTokens: number;
  readonly defaultInputTokens: number;
  /** The least output, in tokens, that is still of use. */
  readonly minUsefulOutput: number;
}

export interface Provider {
  readonly name: string;
  /** Name of the adapter plugin. */
  readonly adapter: string;
  /** The adapter's own settings, as the policy states them; checked by the adapter's schema. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Null for an adapter that answers in-process. */
  readonly baseUrl: string | null;
  /** Whether the name in `baseUrl` may lead to this machine or into a private network. */
  readonly allowPrivateNetwork: boolean;
  /** The variable that holds the API key; null for keyless providers. */
  readonly apiKeyEnv: string | null;
  /** Unknown request fields that may be passed on; `*` for all. */
  readonly passthrough: ReadonlySet<string>;
  /** Its prompt cache: how long an entry lives after its last use, ms, and the least tokens of one. */
  readonly cache: { readonly ttlMs: number; readonly tokensMin: number };
  /** Its bill for an answer that is aborted. */
  readonly afterAbort: AbortBilling;
  /** The most pages of PDFs that it reads; absent where it is not stated. */
  readonly pagesMax?: PagesMax;
}

export interface Endpoint {
  readonly provider: string;
  /** The provider's own name of the model. */
  readonly upstream: string;
  readonly regions: readonly string[];
  readonly price: Price;
  /** Bits of `CAPABILITIES`: what the model can do there. */
  readonly capabilities: number;
  /** The bill there for an answer that is aborted; absent where it is as its provider's. */
  readonly afterAbort?: AbortBilling;
}

export interface Model {
  readonly id: string;
  /** The wildcard that it is of; absent for a model of the catalog. */
  readonly pattern?: string;
  /** Tried in this order. Never empty. */
  readonly endpoints: readonly [Endpoint, ...Endpoint[]];
  /** Slot of the first endpoint among those of all models, which the bits of constraints count by; the others follow. */
  readonly firstSlot: number;
  /** Tokens of input and output together. */
  readonly contextWindow: number;
  readonly maxOutput: number;
  readonly defaultMaxOutput: number;
  /** Bits of `OPERATIONS` that it serves. */
  readonly operations: number;
  /** Null for a model without the operation `embed`. */
  readonly embedding: EmbeddingModel | null;
  /** Bits of `CAPABILITIES`: what it can do at one of its endpoints at least. */
  readonly capabilities: number;
  /** Bits of `CAPABILITIES` that the policy does not declare, and could: an adapter can express them. Absent for none. */
  readonly declarable?: number;
  /** Programming languages that it is known to handle, in their canonical names. */
  readonly languages: ReadonlySet<string>;
  /** Those that it is known not to handle. A language in neither set is unknown. */
  readonly lacksLanguages: ReadonlySet<string>;
  readonly tags: readonly string[];
  /** Models of one family understand each other's signed or opaque reasoning; the model's own ID where the policy names none. */
  readonly family: string;
  /** Name of the tokenizer that counts its input exactly; null where none is known. */
  readonly tokenizer: Tokenizer | null;
  readonly acceptsTemperature: boolean;
  /** Hidden reasoning tokens expected at the effort we send, for tasks without a figure of their own; 0 for none. */
  readonly reasoningTokens: number;
  /** The same by index of the task. */
  readonly reasoningByTask: Float64Array;
  /** Whether the policy states hidden reasoning of it, for any task. */
  readonly mayReason: boolean;
  /** The most tokens one image can count; null when unknown, and then no hard limit can hold with one. */
  readonly imageTokensMax: number | null;
  /** Most tokens of a page of a PDF; null where unknown. */
  readonly pageTokensMax: number | null;
  /** The most pages of PDFs that the services of its endpoints read; empty where it is not known of each. */
  readonly pagesMax: readonly PagesMax[];
  /** The most tokens that a second of audio can count; null when unknown, and then no hard limit can hold with audio. */
  readonly audioTokensPerSecondMax: number | null;
  readonly latency: DeclaredLatency;
  /** Share of good answers, 0..1, by index of the task. */
  readonly quality: Float64Array;
  /** Which of these figures the policy states, and their basis. */
  readonly declared: DeclaredQuality;
  readonly deadlines: Deadlines;
  readonly created: number;
  /** When its provider deprecated it, Unix seconds; null for an active model. */
  readonly deprecated: number | null;
}

/** The most pages of PDFs that a service reads. One figure is stated at least. */
export interface PagesMax {
  /** In all files of a request together; null for no such limit. */
  readonly request: number | null;
  /** In one file; likewise. */
  readonly file: number | null;
}

interface DeclaredQuality {
  /** Share of good answers for tasks without a figure of their own, 0..1. */
  readonly general: number;
  /** By index of the task: 1 for a figure of its own. */
  readonly stated: Uint8Array;
  readonly basis: 'measured' | 'guessed' | 'unknown';
}

/** How fast a model is before anything was measured here. */
export interface DeclaredLatency {
  /** Time to the first content, ms, of a request on which it reasons for `reasoningTokens`. */
  readonly ttftMs: number;
  /** The same where most of the input is in the provider's cache. */
  readonly warmTtftMs: number;
  readonly outputTokensPerSecond: number;
  /** Where the policy does not say: `estimated` is the median of models of the same kind, `neutral` the same for all. */
  readonly basis: 'stated' | 'estimated' | 'neutral';
}

/** Milliseconds. */
export interface Deadlines {
  /** To a connection, counted with the next. */
  readonly connectMs: number;
  readonly firstTokenMs: number;
  readonly idleMs: number;
  readonly totalMs: number;
}

export interface Selector {
  readonly name: string;
  /** Name of the strategy plugin. */
  readonly strategy: string;
  readonly options: Readonly<Record<string, unknown>>;
  /** Bits by index of the model: those that the selector chooses from; null for all. */
  readonly allows: Uint32Array | null;
  /** The one vector space that its embeddings come from; null: it serves none. */
  readonly vectorSpace: string | null;
}

/** A model that a wildcard of the policy serves, with what the policy's rules say of it. */
export interface WildcardModel {
  readonly model: Model;
  /** By index of the constraint: whether its `require` admits the model; true without one. */
  readonly allowed: readonly boolean[];
  /** By index of the preference. */
  readonly preferred: readonly boolean[];
}

/** The reason for which a wildcard does not serve an ID, as a sentence for callers. */
export interface WildcardRefusal {
  readonly refused: string;
}

/** A figure of a wildcard, which a policy may state. The price is that of all its models, or of those without a public price. */
export type WildcardFigure = 'price' | 'context_window' | 'max_output';

/** The wildcards of a policy. Those whose providers are not set up here serve nothing. */
export interface Wildcards {
  /** For each that serves of them a stand-in of all its models, whose ID is the pattern. Their slots follow those of the catalog. */
  readonly patterns: readonly Model[];
  /** Whether the policy states a figure for the models of a pattern; otherwise the stand-in's figure is a placeholder. */
  states(pattern: string, figure: WildcardFigure): boolean;
  /**
   * The model that a name means which is neither a name of the catalog nor an alias: one of the catalog where the
   * provider's model is served by it, else one of a wildcard.
   * @returns its ID; null for a name of none
   */
  meaning(name: string): string | null;
  /**
   * A wildcard's model by its ID. Compiled and judged at its first use; the last ones used are kept.
   * @returns null for an ID of none
   */
  find(id: string): WildcardModel | WildcardRefusal | null;
  /** Whether an ID is of a wildcard's model with public figures, so that its name is real and not merely covered. */
  isKnown(id: string): boolean;
  /** The pattern that would serve a name if its provider were set up here; null for none. */
  leftOut(name: string): string | null;
  /** The models with public figures. */
  listed(): readonly Model[];
}
