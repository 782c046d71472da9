import type { AbortBilling } from '../money/abort-billing.ts';
import type { Budget, LedgerPolicy } from '../money/budget.ts';
import type { Price } from '../money/price.ts';
import type { PricePlan } from '../money/price-plan.ts';
import type { GroupTerms, TeamDeclaration } from '../people/people.ts';
import type { TokenIssuer } from '../people/token-issuer.ts';
import type { DroppableName } from '../request/droppable.ts';
import type { EmbeddingModel } from '../request/embedding.ts';
import type { EscalationTerms } from '../request/escalation.ts';
import type { FallbackLists } from '../request/fallbacks.ts';
import type { Ladder } from '../request/tiers.ts';
import type { Tokenizer } from '../request/tokenizer.ts';
import type { SourcePlace } from '../source-place.ts';
import type { AlertPolicy } from './alerts.ts';
import type { AliasNames } from './alias-names.ts';
import type { SnapshotPrices } from './build.ts';
import type { CachePolicy } from './cache.ts';
import type { PolicyCase } from './case.ts';
import type { ContentPolicy } from './content.ts';
import type { FoundMark, FoundModels } from './found-models.ts';
import type { GuardRule } from './guards.ts';
import type { Languages } from './language-support.ts';
import type { PaymentPolicy } from './payments.ts';
import type { AdmissionPolicy, LimitScope, RateLimit } from './rate-limit.ts';
import type { Constraint, Preference } from './rules.ts';
import type { SignInPolicy } from './sign-in.ts';
import type { SpreadMode } from './spread.ts';

/**
 * A compiled policy: everything that a decision needs, frozen. Requests never parse or validate policy text. A snapshot holds the names of
 * environment variables with secrets, never a secret.
 */
export interface PolicySnapshot {
  /** Identifies the policy's content and its environment. Equal content in an equal environment has an equal revision. */
  readonly revision: string;
  /** The models that were found at servers of the operator and are not in the policy; null for none. */
  readonly found: FoundModels | null;
  /** The prices for which the policy was built; null if no price of the policy changes with time, or all prices are as they are stated first. */
  readonly prices: SnapshotPrices | null;
  /** USD per Credit, exact, in plain decimal notation without trailing zeros: `0.001`. Charging uses each price's own integers. */
  readonly usdPerCredit: string;
  readonly gateway: GatewayPolicy;
  /**
   * Whether the snapshot was made for a single model of a wildcard; absent for false. Signalbox learns nothing about a single model of a
   * wildcard.
   */
  readonly isOfWildcard?: true;
  readonly tasks: readonly Task[];
  /** Task name → index in `tasks`. `general` always exists and has index 0. */
  readonly taskIndex: ReadonlyMap<string, number>;
  /** The largest `minUsefulOutput` of all tasks, tokens. */
  readonly usefulOutputMax: number;
  /** The smallest `maxOutput` of the models that serve chats; Infinity without such a model. */
  readonly maxOutputMin: number;
  /** The largest total deadline of all models, models of wildcards included, ms; 0 without a model. */
  readonly totalMsMax: number;
  readonly providers: ReadonlyMap<string, Provider>;
  /** The shortest prompt that any provider caches, tokens; Infinity if no provider caches. */
  readonly cachedTokensMin: number;
  /** The models that can be served, by ID in ascending order. */
  readonly models: readonly Model[];
  readonly modelIndex: ReadonlyMap<string, number>;
  /** Models that selectors never choose, and that are served if a caller names them; null for none. */
  readonly wildcards: Wildcards | null;
  readonly selectors: ReadonlyMap<string, Selector>;
  /** Another name that callers may send as `model` → the selector or model that it stands for, even if that model cannot be served. */
  readonly aliases: ReadonlyMap<string, string>;
  /** Prefixes of further aliases → the selector or model, the longest prefix first. Alias patterns do not apply to a name that exists. */
  readonly aliasPatterns: AliasNames['patterns'];
  /** The aliases that built-in selectors have without being listed. They apply only to names that no model here has. */
  readonly defaultAliases: AliasNames;
  /** Whether `aliasPatterns` also apply to models with public figures that a wildcard serves. */
  readonly patternsCoverKnown: boolean;
  /** Weights to use where `route_strategy` leaves one out. */
  readonly defaultWeights: { readonly cost: number; readonly quality: number };
  /** The typical requests of the policy, for which selectors order their models. */
  readonly traffic: readonly TaskTraffic[];
  /** From which probability that its first question is hard a conversation is hard, 0..1. */
  readonly strongFrom: number;
  /** How conversations go on after an answer that failed. */
  readonly escalate: EscalationTerms;
  /** Which models support which programming languages. A language that is not listed is unknown for all models. */
  readonly languages: Languages;
  /** Index in `models` of the model that savings are compared with; null: the eligible model with the best quality. */
  readonly baseline: number | null;
  readonly metrics: MetricsPolicy;
  /** What is stored about requests, and for how long. */
  readonly records: RecordsPolicy;
  readonly constraints: readonly Constraint[];
  readonly preferences: readonly Preference[];
  /** Whether a decision for a model named by the caller depends on the text of its prompt, in addition to the request's own terms. */
  readonly namedModelsReadIntent: boolean;
  /** The guards of requests and answers, in the order in which they inspect. */
  readonly guards: readonly GuardRule[];
  /** How answers are used again for equal requests; null if the policy has no cache. */
  readonly cache: CachePolicy | null;
  readonly budgets: readonly Budget[];
  readonly rateLimits: readonly RateLimit[];
  /** Whether a rate limit counts callers by IP address. */
  readonly countsAddresses: boolean;
  readonly ledger: LedgerPolicy;
  /** How agents pay for their own requests; null if they cannot. */
  readonly payments: PaymentPolicy | null;
  /**
   * The URL at which people and agents reach this gateway, without a slash at its end. `publicUrl` includes a path that a proxy removes.
   * `publicUrl` is null if the policy does not state it.
   */
  readonly publicUrl: string | null;
  readonly console: ConsolePolicy;
  /** How people sign in with OpenID Connect; null if they cannot. */
  readonly signIn: SignInPolicy | null;
  /** Terms of the organization, which limit all callers together. */
  readonly organization: GroupTerms;
  /** Teams that the policy declares. The store assigns their IDs when the policy becomes active. */
  readonly teams: readonly TeamDeclaration[];
  /** Team names that budgets use → the ID of the team when the policy was loaded, or null for a team that did not exist yet. */
  readonly teamIds: ReadonlyMap<string, string | null>;
  /** Location in the policy of each team name that budgets use. */
  readonly teamPlaces: ReadonlyMap<string, SourcePlace>;
  /** Issuers of the tokens that workloads send instead of API keys. Each `iss` occurs once. */
  readonly tokens: readonly TokenIssuer[];
  /** Which alerts to send, and where. Decisions do not depend on the alert policy. */
  readonly alerts: AlertPolicy;
  readonly cases: readonly PolicyCase[];
  /** Parts of the policy that cannot be served in this environment. */
  readonly leftOut: readonly LeftOut[];
}

export interface MetricsPolicy {
  /** The key label that metrics of spend and requests have as a label; null for none. */
  readonly keyLabel: string | null;
}

export interface ConsolePolicy {
  /** Whether the server serves the console at `/console`. */
  readonly enabled: boolean;
  /** URL of a request's trace for people, with `{decision_id}` as a placeholder; null for none. */
  readonly traceUrl: string | null;
}

export interface LeftOut {
  /** `found` is a model that a server of the operator has, but that is not served. */
  readonly kind: 'provider' | 'model' | 'found';
  readonly name: string;
  /** The reason for operators. The reason for operators names environment variables that are not set. */
  readonly reason: string;
  /** For a model of the policy or of a server: the reason for callers, who must not see the names of environment variables. */
  readonly toCallers?: string;
  /** For a model of the policy: what a request that names it needs to use a fallback instead. */
  readonly model?: Pick<Model, 'id' | 'embedding' | 'fallbacks'>;
}

/** What is stored about requests, and for how long. */
export interface RecordsPolicy {
  /** How many days decisions and refused requests are kept. */
  readonly days: number;
  /** How many days entries of the audit trail are kept; null: forever. */
  readonly trailDays: number | null;
  /** Keys of a request's `metadata` that its decision record stores. */
  readonly metadata: readonly string[];
  /** Which texts of requests and answers are stored; null for none. */
  readonly content: ContentPolicy | null;
  /**
   * Whether reports name the sessions and agents of a key; null for no key. If the condition throws, reports do not name the sessions and
   * agents.
   */
  readonly reportedRuns: ((scope: LimitScope) => boolean) | null;
}

export interface GatewayPolicy extends AdmissionPolicy {
  readonly bodyBytesMax: number;
  readonly messagesMax: number;
  /** The most memory of the kept bodies of running conversations, in bytes; 0 to keep none. */
  readonly turnsBytesMax: number;
  readonly toolsMax: number;
  /** How long the gateway waits for the first content of a stream before it sends status 200 and heartbeats, ms. */
  readonly commitAfterMs: number;
  /** How a stream that fails after its headers ends, in a dialect without an event for failures. */
  readonly failedStreams: 'break' | 'end';
  /** Whether dialects with a WebSocket accept WebSocket connections. */
  readonly websockets: boolean;
  /** The largest message that a WebSocket accepts, bytes. A server uses the `socketBytesMax` of the policy at its start. */
  readonly socketBytesMax: number;
  /** The treatment of a model whose maximum output is below the request's: its output is capped, or it is rejected. */
  readonly outputAboveMaximum: 'cap' | 'refuse';
  /**
   * The treatment of a repeat with the same `Idempotency-Key` while the first request runs: it waits for the first answer, or gets a 409.
   */
  readonly repeatsInFlight: 'wait' | 'refuse';
  /** The treatment of a forced tool call if the model refuses it: it becomes a JSON schema for the answer, or the model is rejected. */
  readonly forcedTools: 'adapt' | 'refuse';
  /** Whether a request can list its fallbacks. */
  readonly requestFallbacks: boolean;
  /** IANA name of the time zone in which rules read `time`. */
  readonly timeZone: string;
  /** How many alternatives a decision keeps: the `alternatives` of a route, the fallbacks of a chat. */
  readonly alternatives: number;
  /** The most retries of one request over all endpoints. The first attempt at an endpoint does not count. */
  readonly retriesMax: number;
  /** The most uses of a service's own tool in one answer, if the request states no figure. */
  readonly toolUsesMax: number;
  /** Kinds of tools that Signalbox does not know and nevertheless allows in requests that a fund pays for. */
  readonly passthroughTools: ReadonlySet<string>;
  /** Kinds of a service's own tools that Signalbox removes from requests which also offer other tools. */
  readonly dropTools: ReadonlySet<string>;
  /** Settings that Signalbox removes from a request to an endpoint that does not support them. */
  readonly dropUnsupported: ReadonlySet<DroppableName>;
  /** Whether image URLs may lead to private networks. */
  readonly allowPrivateImageUrls: boolean;
  /** Origins whose web pages may read answers, in the form that browsers send: `https://app.example`. */
  readonly corsOrigins: ReadonlySet<string>;
}

export interface Task {
  readonly name: string;
  readonly expectedOutputTokens: number;
  readonly defaultInputTokens: number;
  /** The shortest useful output, tokens. */
  readonly minUsefulOutput: number;
}

/** The typical requests of a task. */
export interface TaskTraffic {
  /** Index of the task. */
  readonly task: number;
  /** The share of all requests, 0..1. All shares sum to 1. */
  readonly share: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export interface Provider {
  readonly name: string;
  /** Name of the adapter plugin. */
  readonly adapter: string;
  /** The adapter's own settings, as the policy states them. The schema of the adapter checks these settings. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** `baseUrl` is null for an adapter that creates answers in this process. */
  readonly baseUrl: string | null;
  /** Whether the host in `baseUrl` may resolve to this machine or a private network. */
  readonly allowPrivateNetwork: boolean;
  /** The keys with which the provider is called: one, or the keys of its pool, which take turns. */
  readonly accounts: readonly [ProviderAccount, ...ProviderAccount[]];
  /** Request fields unknown to Signalbox that may be passed on; `*` for all. */
  readonly passthrough: ReadonlySet<string>;
  /** The provider's prompt cache: how long an entry lives after its last use, ms, and the shortest prompt that is cached, tokens. */
  readonly cache: { readonly ttlMs: number; readonly tokensMin: number };
  /** The part of an aborted answer that the provider bills. */
  readonly afterAbort: AbortBilling;
  /** The most pages of PDFs that the provider reads; absent if not stated. */
  readonly pagesMax?: PagesMax;
  /** Whether Signalbox finds the models of the provider, and whether selectors always choose from them; absent if it finds none. */
  readonly discover?: 'serve' | 'choose';
  /** The command with which an operator adds a model to the server, without the name of the model; absent if there is none. */
  readonly addCommand?: string;
}

/** A key of a provider, with the account that it belongs to. Each key has a health of its own. */
export interface ProviderAccount {
  /** The environment variable that holds the API key; null for an account without a key. */
  readonly apiKeyEnv: string | null;
  /** Present if the provider has a pool of keys. */
  readonly pooled?: PooledKey;
}

/** One key of a pool, as the policy and the environment state it. */
export interface PooledKey {
  /** The name in logs, metrics and lists: the label in the policy or else the variable, with the number of the key if the variable holds several. */
  readonly label: string;
  /** The index of the key among the lines of its variable. */
  readonly line: number;
  /** The account that the policy names; null if the key is an account of its own. */
  readonly account: string | null;
  /** The share of requests, relative to the other keys of the pool. */
  readonly weight: number;
  /** Figures that replace the limits of each endpoint at this key; absent for none. */
  readonly limits?: EndpointLimits;
}

/** Whether a provider is called with a key. */
export const hasKey = ({ accounts }: Pick<Provider, 'accounts'>): boolean => accounts[0].apiKeyEnv !== null;

export interface Endpoint {
  readonly provider: string;
  /** The index of the account at the provider; absent for the first account. */
  readonly account?: number;
  /** The provider's own name of the model. */
  readonly upstream: string;
  readonly regions: readonly string[];
  /** The price in force when the policy was built. */
  readonly price: Price;
  /** Other prices that may apply before a request ends that begins with this snapshot; absent if the price does not change by then. */
  readonly nextPrices?: readonly Price[];
  /** What the endpoint costs over time; absent if its price never changes. */
  readonly plan?: PricePlan;
  /** Bits of `CAPABILITIES` that the model has at this endpoint. */
  readonly capabilities: number;
  /** The part of an aborted answer that this endpoint bills; absent if the provider's entry applies. */
  readonly afterAbort?: AbortBilling;
  /** The share of requests, relative to the other endpoints of the same group; absent for 1. */
  readonly weight?: number;
  /** The group of the endpoint, of which the one with the lowest number comes first; absent for 0. */
  readonly priority?: number;
  /** Absent for an endpoint without limits. */
  readonly limits?: EndpointLimits;
}

/** The limits of an endpoint for all servers together; null for no limit. At least one figure is stated. */
export interface EndpointLimits {
  readonly requestsPerMinute: number | null;
  /** Input and output together. */
  readonly tokensPerMinute: number | null;
  readonly concurrentRequests: number | null;
}

export interface Model {
  readonly id: string;
  /** The wildcard that the model belongs to; absent for a model of the catalog. */
  readonly pattern?: string;
  /** How the model was found; absent for a model that the policy declares. */
  readonly found?: FoundMark;
  /** How requests are spread over the endpoints; absent if the endpoints are tried in their order. */
  readonly spread?: Exclude<SpreadMode, 'order'>;
  /** The models to try next if the request names this model; absent for none. They may be models that cannot be served here. */
  readonly fallbacks?: FallbackLists;
  /** Endpoints of the model. Without `spread`, they are tried in this order. The list of endpoints is never empty. */
  readonly endpoints: readonly [Endpoint, ...Endpoint[]];
  /**
   * Slot of the first endpoint; the model's other endpoints follow. Slots number the endpoints of all models, and bits of constraints use
   * them.
   */
  readonly firstSlot: number;
  /** Maximum tokens of input and output together. */
  readonly contextWindow: number;
  readonly maxOutput: number;
  readonly defaultMaxOutput: number;
  /** Bits of `OPERATIONS` that the model serves. */
  readonly operations: number;
  /** `embedding` is null for a model without the operation `embed`. */
  readonly embedding: EmbeddingModel | null;
  /** Bits of `CAPABILITIES` that the model has at one or more of its endpoints. */
  readonly capabilities: number;
  /**
   * Bits of `CAPABILITIES` that the policy could declare and does not, because an adapter can express them. `declarable` is absent if there
   * are no such capabilities.
   */
  readonly declarable?: number;
  /** Programming languages that the model is known to support, under canonical names. */
  readonly languages: ReadonlySet<string>;
  /** Programming languages that the model is known not to support. A language in neither `languages` nor `lacksLanguages` is unknown. */
  readonly lacksLanguages: ReadonlySet<string>;
  readonly tags: readonly string[];
  /**
   * Models of one family can read each other's signed or encrypted reasoning. `family` is the model's own ID if the policy names no family.
   */
  readonly family: string;
  /** Name of the tokenizer that counts the model's input exactly; null if unknown. */
  readonly tokenizer: Tokenizer | null;
  readonly acceptsTemperature: boolean;
  /** Expected hidden reasoning tokens at the effort that Signalbox sends, for tasks without a figure of their own; 0 for none. */
  readonly reasoningTokens: number;
  /** Expected hidden reasoning tokens by index of the task. */
  readonly reasoningByTask: Float64Array;
  /** Whether the policy states hidden reasoning tokens of the model for any task. */
  readonly mayReason: boolean;
  /**
   * The most tokens that one image can count; null if unknown. If `imageTokensMax` is null, a request with images cannot have a hard limit.
   */
  readonly imageTokensMax: number | null;
  /** The most tokens of a PDF page; null if unknown. */
  readonly pageTokensMax: number | null;
  /** The most PDF pages that the services of the model's endpoints read; empty unless it is known for every endpoint. */
  readonly pagesMax: readonly PagesMax[];
  /**
   * The most tokens that a second of audio can count; null if unknown. If `audioTokensPerSecondMax` is null, a request with audio cannot
   * have a hard limit.
   */
  readonly audioTokensPerSecondMax: number | null;
  readonly latency: DeclaredLatency;
  /** Share of good answers, 0..1, by index of the task. */
  readonly quality: Float64Array;
  /** Which of the qualities the policy states, and what they are based on. */
  readonly declared: DeclaredQuality;
  readonly deadlines: Deadlines;
  readonly created: number;
  /** When the provider deprecated the model, Unix seconds; null for an active model. */
  readonly deprecated: number | null;
}

/** The most pages of PDFs that a service reads. At least one of the figures `request` and `file` is stated. */
export interface PagesMax {
  /** Pages in all files of a request together; null for no limit. */
  readonly request: number | null;
  /** The most pages in one file; null for no limit. */
  readonly file: number | null;
}

interface DeclaredQuality {
  /** Share of good answers for tasks without a figure of their own, 0..1. */
  readonly general: number;
  /** By index of the task: 1 if the task has a figure of its own. */
  readonly stated: Uint8Array;
  readonly basis: 'measured' | 'guessed' | 'unknown';
}

/** How fast a model is before Signalbox has measured it. */
export interface DeclaredLatency {
  /** Milliseconds to the first content, in a request for which the model reasons with `reasoningTokens`. */
  readonly ttftMs: number;
  /** Milliseconds to the first content if most of the input is in the provider's cache. */
  readonly warmTtftMs: number;
  readonly outputTokensPerSecond: number;
  /**
   * The source of the latency figures. `stated`: the policy. `estimated`: the median of models of the same kind. `neutral` and `slow`:
   * figures that are the same for all models.
   */
  readonly basis: 'stated' | 'estimated' | 'neutral' | 'slow';
}

/** Deadlines of a call, ms. */
export interface Deadlines {
  /** The deadline for opening the connection. The deadline for the next step includes the time to connect. */
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
  /** The models that the selector chooses from, as bits by index; null for all. */
  readonly allows: Uint32Array | null;
  /** The models to try after the choice, instead of the next best models; absent for none. They may be models that cannot be served here. */
  readonly fallbacks?: FallbackLists;
  /** The vector space of the selector's embeddings; null if it serves no embeddings. */
  readonly vectorSpace: string | null;
  /** Absent if the strategy of the selector scores the models for each request. */
  readonly ladder?: Ladder;
}

/** A model that a wildcard of the policy serves, with the effects of the policy's rules. */
export interface WildcardModel {
  readonly model: Model;
  /** By index of the constraint: whether its `require` allows the model; true for a constraint without `require`. */
  readonly allowed: readonly boolean[];
  /** By index of the preference: whether it prefers the model. */
  readonly preferred: readonly boolean[];
}

/** Why a wildcard does not serve an ID, as a sentence for callers. */
export interface WildcardRefusal {
  readonly refused: string;
}

/**
 * A figure that a policy may state for a wildcard. The price of a wildcard applies to all its models, or only to models without a public
 * price.
 */
export type WildcardFigure = 'price' | 'context_window' | 'max_output';

/** The wildcards of a policy. A wildcard whose provider is not set up in this environment serves nothing. */
export interface Wildcards {
  /**
   * One stand-in model for each wildcard that serves. The ID of a stand-in model is its wildcard's pattern. The slots of the stand-ins
   * follow the catalog's slots.
   */
  readonly patterns: readonly Model[];
  /**
   * Whether the policy states a figure for the models of a pattern. If the policy does not state a figure, the figure of the stand-in model
   * is a placeholder.
   */
  states(pattern: string, figure: WildcardFigure): boolean;
  /**
   * Returns the model that a name means, for a name that is neither in the catalog nor an alias: a catalog model that serves the provider's
   * model of this name, otherwise a model of a wildcard.
   * @returns the model's ID; null if the name means no model
   */
  meaning(name: string): string | null;
  /**
   * Returns a wildcard's model by its ID. The model is compiled and checked at its first use; recently used models are cached.
   * @returns null if no wildcard matches the ID
   */
  find(id: string): WildcardModel | WildcardRefusal | null;
  /** Whether an ID is a wildcard's model with public figures, so that a model of this name certainly exists. */
  isKnown(id: string): boolean;
  /** Returns the pattern that would serve a name if its provider were set up; null for none. */
  leftOut(name: string): string | null;
  /** Returns the models with public figures. */
  listed(): readonly Model[];
}
