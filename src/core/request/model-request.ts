import { type Edit, type Members, type Original, type OriginalPath, valueAt, withEdits } from '../json/original.ts';
import { SharedValues } from '../json/shared-values.ts';
import { keepSource } from '../json/source.ts';
import type { Operation } from '../kinds/operations.ts';
import type { Conversation, ModelSettings, RoutingTerms } from './conversation.ts';
import type { EmbeddingInput } from './embedding.ts';
import { NO_RUN, type RunNames } from './run-names.ts';

/** The caller's names of fields, so that messages use the names of the caller's dialect. */
export type FieldNames = Readonly<
  Record<
    keyof ModelSettings | 'turns' | 'tools' | 'toolChoice' | 'agentWallet' | 'budgetCredits' | 'dimensions',
    string
  >
>;

/** The parts of a request that come from its headers. */
export interface RequestHeaders {
  /** Headers that are sent upstream with a passed-through body, such as `anthropic-beta`; by name in lower case. */
  readonly passed: Readonly<Record<string, string>>;
  /** The caller's names of the agent run that the request belongs to. */
  readonly run: RunNames;
}

const NO_HEADERS: RequestHeaders = { passed: {}, run: NO_RUN };

/** A request in neutral form. */
export interface ModelRequest {
  readonly operation: Operation;
  /** A model ID or a selector. */
  readonly model: string;
  /** Whether the caller wants a streamed answer. */
  readonly stream: boolean;
  readonly conversation: Conversation;
  readonly settings: ModelSettings;
  readonly routing: RoutingTerms;
  /** The separate texts of a request that is no conversation; null for a conversation. */
  readonly inputs: readonly EmbeddingInput[] | null;
  /** The length of each vector that a request for embeddings asks for; undefined for the model's own length. */
  readonly dimensions: number | undefined;
  /** Fields of the body that its dialect does not define, by name. */
  readonly extras: Members;
  readonly original: Original;
  readonly headers: RequestHeaders;
  readonly names: FieldNames;
  /** The JSON text of the tools as the caller sent them; '' for none. */
  readonly toolsText: string;
  /** Returns the value at a location of the original body; undefined if the body has no such location. */
  originalAt(path: OriginalPath): unknown;
  /**
   * Returns the request with other values at some locations of its original body.
   *
   * @example
   * ```ts
   * const [turn] = request.conversation.turns;
   * const edits = turn.parts.flatMap((part) => (part.type === 'text' ? [{ at: part.valueAt, value: '…' }] : []));
   * const masked = request.edit(edits);
   * ```
   */
  edit(edits: readonly Edit[]): ModelRequest;
  /** Returns an answer format as the dialect writes it in the field `names.answerFormat`. */
  answerFormatOf(format: NamedSchema): unknown;
}

/** A JSON schema that an answer must follow. */
export interface NamedSchema {
  readonly name: string;
  readonly schema: Members;
  readonly strict?: boolean;
}

/** Reads the bodies of one dialect. All methods of a request reader are pure. */
export interface RequestReader<Body extends Members> {
  readonly dialect: string;
  readonly operation: Operation;
  /** Returns the field names that a body uses, because a dialect may have two names for one field. */
  names(body: Body): FieldNames;
  model(body: Body): string;
  isStream(body: Body): boolean;
  conversation(body: Body): Conversation;
  settings(body: Body): ModelSettings;
  routing(body: Body): RoutingTerms;
  extras(body: Body): Members;
  /** Writes an answer format. `answerFormat` is absent for a dialect without answers. */
  answerFormat?(format: NamedSchema): unknown;
  /** Reads the separate texts of a request; absent for a reader of conversations. */
  inputs?(body: Body): readonly EmbeddingInput[];
  /** Reads the length of vectors; absent for other operations. */
  dimensions?(body: Body): number | undefined;
}

/** Makes the neutral form of a checked body. */
export const modelRequest = <Body extends Members>(
  body: Body,
  reader: RequestReader<Body>,
  headers = NO_HEADERS,
): ModelRequest => new BodyRequest(body, reader, headers);

/** The texts of definitions of tools, and of lists of tools, that several requests share. */
const knownToolTexts = new SharedValues<readonly unknown[], string>();

class BodyRequest<Body extends Members> implements ModelRequest {
  readonly operation: Operation;
  readonly model: string;
  readonly stream: boolean;
  readonly conversation: Conversation;
  readonly settings: ModelSettings;
  readonly routing: RoutingTerms;
  readonly inputs: readonly EmbeddingInput[] | null;
  readonly dimensions: number | undefined;
  readonly extras: Members;
  readonly original: { readonly dialect: string; readonly body: Body };
  readonly headers: RequestHeaders;
  readonly #reader: RequestReader<Body>;
  #toolsText: string | null = null;

  constructor(body: Body, reader: RequestReader<Body>, headers: RequestHeaders) {
    this.operation = reader.operation;
    this.model = reader.model(body);
    this.stream = reader.isStream(body);
    this.conversation = reader.conversation(body);
    this.settings = reader.settings(body);
    this.routing = reader.routing(body);
    this.inputs = reader.inputs?.(body) ?? null;
    this.dimensions = reader.dimensions?.(body);
    this.extras = reader.extras(body);
    this.original = { dialect: reader.dialect, body };
    this.headers = headers;
    this.#reader = reader;
  }

  get names(): FieldNames {
    return this.#reader.names(this.original.body);
  }

  get toolsText(): string {
    this.#toolsText ??= this.#writeTools();
    return this.#toolsText;
  }

  #writeTools(): string {
    const { tools, nativeTools = [], leftOutTools = [] } = this.conversation;
    if (tools.length + nativeTools.length + leftOutTools.length === 0) return '';
    const known = nativeTools.length + leftOutTools.length === 0 ? knownToolTexts.get(tools) : undefined;
    if (known !== undefined) return known;
    const originals: unknown[] = [];
    for (const { at } of tools) originals.push(this.originalAt(at));
    for (const { at } of nativeTools) originals.push(this.originalAt(at));
    for (const at of leftOutTools) originals.push(this.originalAt(at));
    const list = this.originalAt([this.names.tools]);
    const isWhole =
      Array.isArray(list) && list.length === originals.length && originals.every((one, at) => one === list[at]);
    if (!isWhole) return JSON.stringify(originals);
    const text = knownToolTexts.get(list) ?? knownToolTexts.set(list, JSON.stringify(list));
    return nativeTools.length + leftOutTools.length === 0 ? knownToolTexts.set(tools, text) : text;
  }

  originalAt(path: OriginalPath): unknown {
    return valueAt(this.original.body, path);
  }

  answerFormatOf(format: NamedSchema): unknown {
    return this.#reader.answerFormat?.(format);
  }

  edit(edits: readonly Edit[]): ModelRequest {
    const body = keepSource(this.original.body, withEdits(this.original.body, edits));
    return body === this.original.body ? this : new BodyRequest(body, this.#reader, this.headers);
  }
}
