import type { StreamPart } from '../../contract/parts.ts';
import type { Caller } from '../../core/people/caller.ts';
import type { ContentPolicy, Redaction } from '../../core/policy/content.ts';
import { placesOf } from '../../core/request/conversation.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import { DAY_MS } from '../../core/time/clock.ts';
import type { ContentTable, StoredContent } from '../../store/records.ts';
import type { Write } from '../../store/store.ts';
import { redact } from './redact.ts';

/** The most characters that are stored of a prompt, and of an answer. */
export const CONTENT_MAX = 262_144;
/** Characters that are read beyond the limit and then discarded, so that redaction recognizes values that the limit would cut. */
const MARGIN = 512;
/** The maximum length of a stored member name. */
const NAME_MAX = 64;

/**
 * Records the text of a request and its answer. No other text of requests and answers is stored, except answers stored for an
 * `Idempotency-Key`, which can be read only with the caller's secret.
 * @param model the selector or model that the request's `model` means
 * @returns null if the policy stores nothing of the request
 */
export function recordContent(
  contents: ContentTable,
  policy: ContentPolicy,
  request: ModelRequest,
  model: string,
  caller: ContentCaller,
): RedactedRecorder | null {
  if (!isMatch(policy, model, caller)) return null;
  return new RedactedRecorder(contents, policy, request);
}

type ContentCaller = Pick<Caller, 'keyId' | 'labels' | 'team' | 'user'>;

/** A condition that fails to evaluate does not match. */
function isMatch(
  { match }: ContentPolicy,
  model: string,
  { keyId, labels, team = '', user = '' }: ContentCaller,
): boolean {
  if (match === null) return true;
  try {
    const key = { id: keyId, labels: new Map(Object.entries(labels)) };
    return match({ request: { model }, key, team: { id: team }, user: { id: user } });
  } catch {
    return false;
  }
}

interface ChoiceContent {
  content: string;
  reasoning: string;
  refusal: string;
  /** Tool calls by index. */
  readonly calls: Map<number, { name: string; arguments: string }>;
}

const silent = (): ChoiceContent => ({ content: '', reasoning: '', refusal: '', calls: new Map() });

/** Records an answer, redacted, so that the answer is stored with its prompt. */
class RedactedRecorder {
  readonly #contents: ContentTable;
  readonly #policy: ContentPolicy;
  readonly #request: ModelRequest;
  readonly #choices = new Map<number, ChoiceContent>();
  #chars = 0;

  constructor(contents: ContentTable, policy: ContentPolicy, request: ModelRequest) {
    this.#contents = contents;
    this.#policy = policy;
    this.#request = request;
  }

  /** Records parts of the answer that the caller receives. */
  add(parts: readonly StreamPart[]): void {
    if (!this.#policy.keepsAnswer) return;
    for (const part of parts) {
      if (this.#chars > CONTENT_MAX + MARGIN) return;
      if (part.type === 'tool-call') this.#addCall(part);
      else if (part.type === 'text') this.#choice(part).content += this.#count(part.text);
      else if (part.type === 'reasoning') this.#choice(part).reasoning += this.#count(part.text);
      else if (part.type === 'refusal') this.#choice(part).refusal += this.#count(part.text);
    }
  }

  /** Returns the writes of the content, for the commit of the settlement. */
  writes(decision: number, now: number): Write[] {
    try {
      return [this.#contents.add(decision, this.#content(now))];
    } catch {
      // An error while the content is recorded must not prevent the settlement.
      return [];
    }
  }

  #content(now: number): StoredContent {
    const { keepsPrompt, keepsAnswer, redact: kinds, days } = this.#policy;
    const prompt = new ContentRedactor(kinds);
    const answer = new ContentRedactor(kinds);
    return {
      until: now + days * DAY_MS,
      prompt: keepsPrompt ? prompt.list(this.#messages()) : null,
      answer: keepsAnswer ? answer.list(this.#answer()) : null,
      isCut: prompt.isTruncated || answer.isTruncated,
    };
  }

  /** Returns the turns, or the separate texts, as the caller sent them. */
  #messages(): unknown[] {
    const { conversation, inputs } = this.#request;
    // A message that the caller sent may be many turns in the neutral form.
    if (!inputs) return [...new Set(conversation.turns.flatMap(placesOf))].map((at) => this.#request.originalAt(at));
    return inputs.map((input) => (input.type === 'text' ? input.text : `[${input.tokens.length} tokens]`));
  }

  #choice({ choice }: { readonly choice: number }): ChoiceContent {
    return this.#choices.getOrInsertComputed(choice, silent);
  }

  #addCall(part: Extract<StreamPart, { type: 'tool-call' }>): void {
    const { calls } = this.#choice(part);
    const call = calls.getOrInsert(part.index, { name: '', arguments: '' });
    if (part.name !== undefined) call.name = this.#count(part.name);
    call.arguments += this.#count(part.arguments);
  }

  #count(text: string): string {
    this.#chars += text.length;
    return text;
  }

  #answer(): object[] {
    return [...this.#choices].map(([index, { content, reasoning, refusal, calls }]) => ({
      index,
      content,
      ...(reasoning !== '' && { reasoning }),
      ...(refusal !== '' && { refusal }),
      ...(calls.size > 0 && { tool_calls: [...calls.values()] }),
    }));
  }
}

/** Members that contain media, which is large and not text. */
const MEDIA = new Set(['data', 'file_data']);

/** Copies a JSON value with every text redacted, up to the limit. */
class ContentRedactor {
  isTruncated = false;
  readonly #kinds: readonly Redaction[];
  #left = CONTENT_MAX;

  constructor(kinds: readonly Redaction[]) {
    this.#kinds = kinds;
  }

  cut(value: unknown, name = ''): unknown {
    if (typeof value === 'string') return this.#text(value, name);
    if (Array.isArray(value)) return this.list(value);
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value);
    return Object.fromEntries(entries.map(([key, inner]) => [this.#name(key), this.cut(inner, key)]));
  }

  list(values: readonly unknown[]): unknown[] {
    const copies: unknown[] = [];
    for (const value of values) {
      if (this.#left === 0) {
        this.isTruncated = true;
        break;
      }
      copies.push(this.cut(value));
    }
    return copies;
  }

  #name(key: string): string {
    return redact(key.slice(0, NAME_MAX), this.#kinds);
  }

  #text(text: string, name: string): string {
    if (text.startsWith('data:') || MEDIA.has(name)) return `[${text.length} characters of media]`;
    if (text.length <= this.#left) {
      this.#left -= text.length;
      return redact(text, this.#kinds);
    }
    this.isTruncated = true;
    const room = this.#left;
    this.#left = 0;
    const read = redact(text.slice(0, room + MARGIN), this.#kinds);
    // A value that the end of the margin cuts is in the margin, and the margin is discarded.
    const end = text.length > room + MARGIN ? read.length - MARGIN : read.length;
    return read.slice(0, Math.max(0, Math.min(room, end)));
  }
}
