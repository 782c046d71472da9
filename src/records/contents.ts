import type { StreamPart } from '../contract/parts.ts';
import type { Caller } from '../core/caller.ts';
import type { ChatMessage } from '../core/chat-request.ts';
import type { ContentPolicy, Redaction } from '../core/content.ts';
import type { Statement, Store, Write } from '../store/store.ts';
import { redact } from './redact.ts';

/**
 * The one place where words of prompts and answers are kept, and only where the policy says so. Nothing else takes
 * them to the log or to the store, but for the answers that callers with an `Idempotency-Key` have kept for
 * themselves, which nobody can read without their secret.
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

/** Whether SQLite writes zeros over what it deletes. Only here: elsewhere it would cost, and there are no words. */
const OVERWRITE: Statement = { sql: 'PRAGMA secure_delete = ON' };
const FORGET: Statement = { sql: 'PRAGMA secure_delete = OFF' };
/** Takes what the write-ahead log holds over into the database, and cuts it off. While somebody reads from it, it is left. */
const EMPTY_LOG: Statement = { sql: 'PRAGMA wal_checkpoint(TRUNCATE)' };

/** Characters kept of a prompt, and of an answer. */
export const CONTENT_MAX = 262_144;
/** Read beyond the limit, and thrown away: what a cut goes through would not be known for what it is. */
const MARGIN = 512;
/** Characters kept of the name of a member. */
const NAME_MAX = 64;
/** Rows deleted in one transaction; each may be large. */
const PRUNE_BATCH = 32;
const DAY_MS = 86_400_000;

/** What was kept of one request. */
export interface Content {
  /** Milliseconds since 1970. */
  readonly until: number;
  /** The messages; null where prompts are not kept. Media are left out. */
  readonly prompt: readonly unknown[] | null;
  /** What was answered, by choice; null where answers are not kept. */
  readonly answer: readonly unknown[] | null;
  /** Something was longer than what is kept. */
  readonly isCut: boolean;
}

/** Follows one answer, to keep it with its prompt. */
export interface Listener {
  /** What the caller gets to see. */
  hear(parts: readonly StreamPart[]): void;
  /** What goes with the settlement. */
  writes(decision: number, now: number): Write[];
}

/** Null where nothing of a request is to be kept, as everywhere by default. */
export function listenTo(
  policy: ContentPolicy | null,
  request: { readonly model: string; readonly messages: readonly ChatMessage[] },
  caller: Pick<Caller, 'keyId' | 'labels'>,
): Listener | null {
  if (policy === null || !isMeant(policy, request.model, caller)) return null;
  return new Keeping(policy, request.messages);
}

/** A condition that cannot be judged keeps nothing. */
function isMeant(
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

interface Spoken {
  content: string;
  reasoning: string;
  refusal: string;
  /** By their index. */
  readonly calls: Map<number, { name: string; arguments: string }>;
}

class Keeping implements Listener {
  readonly #policy: ContentPolicy;
  readonly #messages: readonly ChatMessage[];
  readonly #choices = new Map<number, Spoken>();
  #heard = 0;

  constructor(policy: ContentPolicy, messages: readonly ChatMessage[]) {
    this.#policy = policy;
    this.#messages = messages;
  }

  hear(parts: readonly StreamPart[]): void {
    if (!this.#policy.keepsAnswer) return;
    for (const part of parts) {
      if (this.#heard > CONTENT_MAX + MARGIN) return;
      if (part.type === 'tool-call') this.#hearCall(part);
      else if (part.type === 'text') this.#spoken(part).content += this.#counted(part.text);
      else if (part.type === 'reasoning') this.#spoken(part).reasoning += this.#counted(part.text);
      else if (part.type === 'refusal') this.#spoken(part).refusal += this.#counted(part.text);
    }
  }

  writes(decision: number, now: number): Write[] {
    try {
      return [this.#write(decision, now)];
    } catch {
      // A settlement goes with it, which must not fail for the sake of what was said.
      return [];
    }
  }

  #write(decision: number, now: number): Write {
    const { keepsPrompt, keepsAnswer, redact: kinds, days } = this.#policy;
    const prompt = new Scissors(kinds);
    const answer = new Scissors(kinds);
    const promptText = keepsPrompt ? JSON.stringify(prompt.cut(this.#messages)) : null;
    const answerText = keepsAnswer ? JSON.stringify(answer.cut(this.#answer())) : null;
    const isCut = prompt.hasCut || answer.hasCut ? 1 : 0;
    return { statement: INSERT, params: [decision, now + days * DAY_MS, promptText, answerText, isCut] };
  }

  #spoken({ choice }: { readonly choice: number }): Spoken {
    let spoken = this.#choices.get(choice);
    if (!spoken) {
      spoken = { content: '', reasoning: '', refusal: '', calls: new Map() };
      this.#choices.set(choice, spoken);
    }
    return spoken;
  }

  #hearCall(part: Extract<StreamPart, { type: 'tool-call' }>): void {
    const { calls } = this.#spoken(part);
    const call = calls.get(part.index) ?? { name: '', arguments: '' };
    calls.set(part.index, call);
    if (part.name !== undefined) call.name = this.#counted(part.name);
    call.arguments += this.#counted(part.arguments);
  }

  #counted(text: string): string {
    this.#heard += text.length;
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

/** Members of messages that hold media: not words, and large. */
const MEDIA = new Set(['data', 'file_data']);

/** Copies a value of JSON with every text redacted, as far as there is room. */
class Scissors {
  hasCut = false;
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
    const kept: unknown[] = [];
    for (const value of values) {
      if (this.#left === 0) {
        this.hasCut = true;
        break;
      }
      kept.push(this.cut(value));
    }
    return kept;
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
    this.hasCut = true;
    const room = this.#left;
    this.#left = 0;
    const read = redact(text.slice(0, room + MARGIN), this.#kinds);
    // What the margin may have cut through stands at its end.
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

/** What was kept of a decision; null for nothing, or nothing any more. */
export async function findContent(store: Pick<Store, 'query'>, decision: number, now: number): Promise<Content | null> {
  const [row] = await store.query<FoundRow>(FIND, [decision, now]);
  if (!row) return null;
  // Written by this file alone.
  const read = (text: string | null): readonly unknown[] | null => (text === null ? null : JSON.parse(text));
  return { until: row.until, prompt: read(row.prompt), answer: read(row.answer), isCut: row.isCut === 1 };
}

/** Deletes what is due: its bytes in the database and its log, too, not only its rows. */
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
