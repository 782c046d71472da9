import type { StreamPart } from '../contract/parts.ts';
import type { Caller } from '../core/caller.ts';
import type { ContentPolicy, Redaction } from '../core/content.ts';
import type { ModelRequest } from '../core/model-request.ts';
import type { Statement, Store, Write } from '../store/store.ts';
import { redact } from './redact.ts';

/**
 * The only place that stores text of prompts and answers, and only if the policy says so. No other text of theirs
 * reaches the log or the store, except answers stored for an `Idempotency-Key`, which need the caller's secret to be
 * read.
 */
export const CONTENTS_TABLE = `CREATE TABLE contents (
      id INTEGER PRIMARY KEY,
      until INTEGER NOT NULL,
      prompt TEXT,
      answer TEXT,
      is_cut INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX contents_until ON contents (until);`;

const INSERT: Statement = { sql: 'INSERT INTO contents (id, until, prompt, answer, is_cut) VALUES (?, ?, ?, ?, ?)' };
const FIND: Statement = {
  sql: 'SELECT until, prompt, answer, is_cut AS isCut FROM contents WHERE id = ? AND until > ?',
};
const COUNT_DUE: Statement = { sql: 'SELECT count(*) AS n FROM (SELECT 1 FROM contents WHERE until <= ? LIMIT ?)' };
const DELETE_DUE: Statement = {
  sql: 'DELETE FROM contents WHERE id IN (SELECT id FROM contents WHERE until <= ? ORDER BY until LIMIT ?)',
};

/** Overwrites deleted rows with zeros. Only for this table, because it is slow and the others hold no text. */
const OVERWRITE: Statement = { sql: 'PRAGMA secure_delete = ON' };
const FORGET: Statement = { sql: 'PRAGMA secure_delete = OFF' };
/** Moves the write-ahead log into the database and truncates it. Has no effect while a reader uses the log. */
const EMPTY_LOG: Statement = { sql: 'PRAGMA wal_checkpoint(TRUNCATE)' };

/** The maximum number of characters stored of a prompt, and of an answer. */
export const CONTENT_MAX = 262_144;
/** Characters read beyond the limit and discarded, so that redaction recognises what the limit would cut through. */
const MARGIN = 512;
/** The maximum length of a stored member name. */
const NAME_MAX = 64;
/** Rows deleted per transaction; each may be large. */
const PRUNE_BATCH = 32;
const DAY_MS = 86_400_000;

/** The stored content of one request. */
export interface StoredContent {
  /** Milliseconds since 1970. */
  readonly until: number;
  /** The messages without media; null if prompts are not stored. */
  readonly prompt: readonly unknown[] | null;
  /** The answer by choice; null if answers are not stored. */
  readonly answer: readonly unknown[] | null;
  /** Whether something exceeded the limit. */
  readonly isCut: boolean;
}

/** Records one answer, to store it with its prompt. */
interface ContentRecorder {
  /** Adds parts that the caller receives. */
  add(parts: readonly StreamPart[]): void;
  /** The writes for the commit of the settlement. */
  writes(decision: number, now: number): Write[];
}

/** Returns null if the policy stores nothing of the request, as by default. */
export function recordContent(
  policy: ContentPolicy | null,
  request: ModelRequest,
  caller: Pick<Caller, 'keyId' | 'labels'>,
): ContentRecorder | null {
  if (policy === null || !isMatch(policy, request.model, caller)) return null;
  return new RedactedRecorder(policy, request);
}

/** A condition that fails to evaluate does not match. */
function isMatch(
  { match }: ContentPolicy,
  model: string,
  { keyId, labels }: Pick<Caller, 'keyId' | 'labels'>,
): boolean {
  if (match === null) return true;
  try {
    return match({ request: { model }, key: { id: keyId, labels: new Map(Object.entries(labels)) } });
  } catch {
    return false;
  }
}

interface ChoiceContent {
  content: string;
  reasoning: string;
  refusal: string;
  /** By index. */
  readonly calls: Map<number, { name: string; arguments: string }>;
}

class RedactedRecorder implements ContentRecorder {
  readonly #policy: ContentPolicy;
  readonly #request: ModelRequest;
  readonly #choices = new Map<number, ChoiceContent>();
  #chars = 0;

  constructor(policy: ContentPolicy, request: ModelRequest) {
    this.#policy = policy;
    this.#request = request;
  }

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

  writes(decision: number, now: number): Write[] {
    try {
      return [this.#write(decision, now)];
    } catch {
      // The settlement must not fail because of its content.
      return [];
    }
  }

  #write(decision: number, now: number): Write {
    const { keepsPrompt, keepsAnswer, redact: kinds, days } = this.#policy;
    const prompt = new ContentRedactor(kinds);
    const answer = new ContentRedactor(kinds);
    const promptText = keepsPrompt ? JSON.stringify(prompt.cut(this.#messages())) : null;
    const answerText = keepsAnswer ? JSON.stringify(answer.cut(this.#answer())) : null;
    const isCut = prompt.isTruncated || answer.isTruncated ? 1 : 0;
    return { statement: INSERT, params: [decision, now + days * DAY_MS, promptText, answerText, isCut] };
  }

  /** The turns as the caller sent them. */
  #messages(): unknown[] {
    return this.#request.conversation.turns.map(({ at }) => this.#request.originalAt(at));
  }

  #choice({ choice }: { readonly choice: number }): ChoiceContent {
    let spoken = this.#choices.get(choice);
    if (!spoken) {
      spoken = { content: '', reasoning: '', refusal: '', calls: new Map() };
      this.#choices.set(choice, spoken);
    }
    return spoken;
  }

  #addCall(part: Extract<StreamPart, { type: 'tool-call' }>): void {
    const { calls } = this.#choice(part);
    const call = calls.get(part.index) ?? { name: '', arguments: '' };
    calls.set(part.index, call);
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

/** Members that hold media, which is large and no text. */
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
    if (Array.isArray(value)) return this.#list(value);
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value);
    return Object.fromEntries(entries.map(([key, inner]) => [this.#name(key), this.cut(inner, key)]));
  }

  #list(values: readonly unknown[]): unknown[] {
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
    // A value that the margin cut through is at the end of it.
    const end = text.length > room + MARGIN ? read.length - MARGIN : read.length;
    return read.slice(0, Math.max(0, Math.min(room, end)));
  }
}

interface FoundRow {
  readonly until: number;
  readonly prompt: string | null;
  readonly answer: string | null;
  readonly isCut: number;
}

/** The stored content of a decision; null if there is none, or it has expired. */
export async function findContent(
  store: Pick<Store, 'query'>,
  decision: number,
  now: number,
): Promise<StoredContent | null> {
  const [row] = await store.query<FoundRow>(FIND, [decision, now]);
  if (!row) return null;
  // Only this file writes them.
  const read = (text: string | null): readonly unknown[] | null => (text === null ? null : JSON.parse(text));
  return { until: row.until, prompt: read(row.prompt), answer: read(row.answer), isCut: row.isCut === 1 };
}

/** Deletes expired content, including its bytes in the database and its log. */
export async function pruneContents(store: Pick<Store, 'query' | 'commit'>, now: number): Promise<void> {
  for (let deleted = 0; ; deleted++) {
    const [due] = await store.query<{ n: number }>(COUNT_DUE, [now, PRUNE_BATCH]);
    if (!due?.n) {
      if (deleted > 0) await store.query(EMPTY_LOG);
      return;
    }
    const deletion = { statement: DELETE_DUE, params: [now, PRUNE_BATCH] };
    await store.commit([{ statement: OVERWRITE, params: [] }, deletion, { statement: FORGET, params: [] }]);
  }
}
