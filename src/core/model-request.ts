import type { Conversation, ModelSettings, RoutingTerms } from './conversation.ts';
import type { EmbeddingQuery } from './embedding.ts';
import type { Operation } from './operation.ts';
import { type Edit, type Members, type Original, type OriginalPath, valueAt, withEdits } from './original.ts';
import { NO_RUN, type RunNames } from './run-names.ts';

/** The caller's names of fields, for messages that must speak the caller's dialect. */
export type FieldNames = Readonly<
  Record<keyof ModelSettings | 'turns' | 'tools' | 'toolChoice' | 'agentWallet' | 'budgetCredits', string>
>;

/** The part of a request that its headers state. */
export interface RequestHeaders {
  /** Headers that go upstream with a body that goes there as it came, such as `anthropic-beta`; by name in lower case. */
  readonly passed: Readonly<Record<string, string>>;
  /** The caller's names of the run that the request belongs to. */
  readonly run: RunNames;
}

const NO_HEADERS: RequestHeaders = { passed: {}, run: NO_RUN };

/** A request in neutral form. Its members are read from the original when first asked for, and then kept. */
export interface ModelRequest {
  readonly operation: Operation;
  /** A model ID or a selector. */
  readonly model: string;
  /** Whether the answer is streamed. */
  readonly stream: boolean;
  readonly conversation: Conversation;
  readonly settings: ModelSettings;
  readonly routing: RoutingTerms;
  /** The texts to embed; null for another operation. Its conversation is then empty. */
  readonly embedding: EmbeddingQuery | null;
  /** Fields of the body that its dialect does not define, by name. */
  readonly extras: Members;
  readonly original: Original;
  readonly headers: RequestHeaders;
  readonly names: FieldNames;
  /** The tools as they came, in JSON; '' for none. */
  readonly toolsText: string;
  /** Returns the value at a place of the original; undefined where there is none. */
  originalAt(path: OriginalPath): unknown;
  /**
   * Returns the request with other values at some places of its original.
   *
   * @example
   * ```ts
   * const [turn] = request.conversation.turns;
   * const edits = turn.parts.flatMap((part) => (part.type === 'text' ? [{ at: part.valueAt, value: '…' }] : []));
   * const masked = request.edit(edits);
   * ```
   */
  edit(edits: readonly Edit[]): ModelRequest;
}

/** Reads the bodies of one dialect. All methods are pure, and called at most once for a request. */
export interface RequestReader<Body extends Members> {
  readonly dialect: string;
  readonly operation: Operation;
  /** The names of fields as a body has them: a dialect may know two names of one field. */
  names(body: Body): FieldNames;
  model(body: Body): string;
  isStream(body: Body): boolean;
  conversation(body: Body): Conversation;
  settings(body: Body): ModelSettings;
  routing(body: Body): RoutingTerms;
  extras(body: Body): Members;
  /** Absent for a dialect that asks for no embeddings. */
  embedding?(body: Body): EmbeddingQuery;
}

/** Makes the neutral form of a checked body. Reads only the model's name and `stream` at once. */
export const modelRequest = <Body extends Members>(
  body: Body,
  reader: RequestReader<Body>,
  headers = NO_HEADERS,
): ModelRequest => new LazyRequest(body, reader, headers);

class LazyRequest<Body extends Members> implements ModelRequest {
  readonly model: string;
  readonly stream: boolean;
  readonly original: { readonly dialect: string; readonly body: Body };
  readonly headers: RequestHeaders;
  readonly #reader: RequestReader<Body>;
  #conversation: Conversation | null = null;
  #settings: ModelSettings | null = null;
  #routing: RoutingTerms | null = null;
  #extras: Members | null = null;
  #embedding: EmbeddingQuery | null = null;
  #toolsText: string | null = null;

  constructor(body: Body, reader: RequestReader<Body>, headers: RequestHeaders) {
    this.model = reader.model(body);
    this.stream = reader.isStream(body);
    this.original = { dialect: reader.dialect, body };
    this.headers = headers;
    this.#reader = reader;
  }

  get operation(): Operation {
    return this.#reader.operation;
  }

  get names(): FieldNames {
    return this.#reader.names(this.original.body);
  }

  get conversation(): Conversation {
    this.#conversation ??= this.#reader.conversation(this.original.body);
    return this.#conversation;
  }

  get settings(): ModelSettings {
    this.#settings ??= this.#reader.settings(this.original.body);
    return this.#settings;
  }

  get routing(): RoutingTerms {
    this.#routing ??= this.#reader.routing(this.original.body);
    return this.#routing;
  }

  get embedding(): EmbeddingQuery | null {
    this.#embedding ??= this.#reader.embedding?.(this.original.body) ?? null;
    return this.#embedding;
  }

  get extras(): Members {
    this.#extras ??= this.#reader.extras(this.original.body);
    return this.#extras;
  }

  get toolsText(): string {
    this.#toolsText ??= this.#writeTools();
    return this.#toolsText;
  }

  #writeTools(): string {
    const { tools, nativeTools = [] } = this.conversation;
    const all = nativeTools.length === 0 ? tools : [...tools, ...nativeTools];
    return all.length === 0 ? '' : JSON.stringify(all.map(({ at }) => this.originalAt(at)));
  }

  originalAt(path: OriginalPath): unknown {
    return valueAt(this.original.body, path);
  }

  edit(edits: readonly Edit[]): ModelRequest {
    const body = withEdits(this.original.body, edits);
    return body === this.original.body ? this : new LazyRequest(body, this.#reader, this.headers);
  }
}
