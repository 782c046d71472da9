import { setImmediate } from 'node:timers/promises';
import { type Static, Type } from '@sinclair/typebox';
import type { AnswerSeal } from '../../access/idempotency/crypto.ts';
import { answerSecretOf } from '../../access/tokens/subject.ts';
import type { Tariff } from '../../core/accounting/entry.ts';
import type { Receipt } from '../../core/decision/answer.ts';
import { MICROCREDITS, type Microcredits } from '../../core/money/credits.ts';
import { plainUsage, type Usage } from '../../core/money/usage.ts';
import type { Caller } from '../../core/people/caller.ts';
import type { CachePolicy } from '../../core/policy/cache.ts';
import type { PolicySnapshot } from '../../core/policy/snapshot.ts';
import { SchemaCheck } from '../../core/schema/check.ts';
import { DAY_MS, MINUTE_MS } from '../../core/time/clock.ts';
import { bytesOnDisk, type CacheSizes, type FoundRow } from '../../store/cache.ts';
import type { Repositories } from '../../store/repositories.ts';
import type { Deferral, Store } from '../../store/store.ts';
import type { AnswerSource } from '../exchange/answer-source.ts';
import type { AnswerTurns } from '../exchange/answer-turns.ts';
import { replayedAnswer } from '../exchange/replayed-answer.ts';

/** The first line of an entry; the lines of the answer follow. */
const Head = Type.Object({ form: Type.Literal(1), decision: Type.Integer(), tokens: Type.Optional(Type.Integer()) });
const headForm = new SchemaCheck(Head);

/** An answer from the cache. */
export interface CachedAnswer {
  /** The ID of the decision that the answer repeats. */
  readonly decision: number;
  readonly model: string;
  /** Reads its parts, in turns with other stored answers. */
  readonly source: Pick<AnswerSource, 'read'>;
  readonly usage: Usage;
  /** Fields of the request that the model did not receive, or received in another form, as in `platform`. */
  readonly dropped: readonly string[];
  readonly adapted: readonly string[] | undefined;
  /** The cost of the answer, microcredits; 0 if it is not known. */
  readonly price: Microcredits;
  /** When it was stored, ms since 1970. */
  readonly stored: number;
}

/** An answer to store. */
export interface KeptEntry {
  readonly decision: number;
  /** The lines of the answer, as `batchLine` and `endLine` write them. */
  readonly text: string;
  /** For a single input of a request for embeddings: its share of the tokens; absent for the whole usage of the answer. */
  readonly tokens?: number;
}

interface CacheParts {
  readonly store: Pick<Store, 'commit' | 'flush'> & Deferral & Pick<Repositories, 'cache'>;
  /** The secret of the store. */
  readonly secret: Uint8Array;
  readonly turns: AnswerTurns;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly onError: (error: unknown) => void;
}

/** The use of an entry is noted at most this often, ms. */
const USED_EVERY_MS = MINUTE_MS;
/** After this share of the limit was stored, the oldest entries are deleted; so much of the limit stays free for the next ones. */
const EVICT_SHARE = 1 / 16;
/** So many entries are searched or written together, because a request for embeddings can have thousands, and other requests wait. */
export const TOGETHER = 32;
/** A search reads answers of at most this many bytes at once, and larger ones when their turn comes. */
const READ_AT_ONCE = 16_384;
/** The most tariffs that are kept. */
const TARIFFS_MAX = 1_000;

/** Answers that are used again for equal requests. All are in the store, encrypted; no copy is in memory. State: cached answers. */
export class AnswerCache {
  readonly #parts: CacheParts;
  readonly #tariffs = new Map<string, Tariff>();
  /** The bytes on disk that this server has stored since it last deleted the oldest entries. */
  #bytes = 0;

  constructor(parts: CacheParts) {
    this.#parts = parts;
  }

  /** Returns the secret with which the entries of a wider partition are sealed. */
  secretOf(partition: string): string {
    return answerSecretOf(this.#parts.secret, `cache ${partition}`);
  }

  /** The tariff of the ledger entries of hits. The ledger compares tariffs by identity. */
  tariffOf(model: string): Tariff {
    if (this.#tariffs.size >= TARIFFS_MAX) this.#tariffs.clear();
    return this.#tariffs.getOrInsertComputed(model, () => ({
      model,
      provider: 'signalbox',
      upstream: 'cache',
      price: '{}',
    }));
  }

  /**
   * Finds entries by their names. An entry that cannot be opened counts as absent. Other requests run between some names and the next ones,
   * and large answers wait for their turn.
   * @param hasRoom called with the bytes of entries before they are opened; false ends the search
   * @returns an answer or null for each name, in their order; all null without room. Rejects with StoreError.
   */
  async find(
    names: readonly Uint8Array[],
    seal: AnswerSeal,
    hasRoom: (bytes: number) => boolean,
  ): Promise<(CachedAnswer | null)[]> {
    const { store, turns, now } = this.#parts;
    const found: (CachedAnswer | null)[] = [];
    for (let at = 0; at < names.length; at += TOGETHER) {
      if (at > 0) await setImmediate();
      const some = names.slice(at, at + TOGETHER);
      const rows = await store.cache.find(some, now(), READ_AT_ONCE);
      const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
      if (bytes > 0) await turns.read(bytes);
      if (!hasRoom(bytes)) return names.map(() => null);
      const opened = await this.#whole(rows);
      for (const name of some) {
        const row = opened.get(nameText(name));
        found.push(row ? openRow(row, seal, turns.pace) : null);
      }
    }
    return found;
  }

  /** Reads the answers that were too large for the search. @returns the rows by their names */
  async #whole(rows: readonly FoundRow[]): Promise<ReadonlyMap<string, FoundRow>> {
    const { store, now } = this.#parts;
    const large = rows.filter(({ answer }) => answer === null).map(({ name }) => name);
    const more = large.length > 0 ? await store.cache.find(large, now(), Number.MAX_SAFE_INTEGER) : [];
    return new Map([...rows, ...more].map((row) => [nameText(row.name), row]));
  }

  /** Notes that entries were used, so that they are not the first to be deleted. */
  use(names: readonly Uint8Array[], found: readonly (CachedAnswer | null)[]): void {
    const { store, now } = this.#parts;
    const at = now();
    for (const [index, name] of names.entries()) {
      const stored = found[index]?.stored;
      if (stored !== undefined && at - stored >= USED_EVERY_MS) store.defer(store.cache.use(name, at));
    }
  }

  /** Stores an entry some milliseconds later. */
  keep(
    name: Uint8Array,
    { decision, text, tokens }: KeptEntry,
    seal: AnswerSeal,
    { keyId, user }: Pick<Caller, 'keyId' | 'user'>,
    { bytesMax, ttlMs }: Pick<CachePolicy, 'bytesMax' | 'ttlMs'>,
    { days }: Pick<PolicySnapshot['records'], 'days'>,
  ): void {
    const { store, now } = this.#parts;
    const stored = now();
    const head: Static<typeof Head> = { form: 1, decision, ...(tokens !== undefined && { tokens }) };
    const answer = seal.seal(`${JSON.stringify(head)}\n${text}`, nameText(name));
    const bytes = bytesOnDisk(answer.length);
    if (bytes > bytesMax * EVICT_SHARE) return;
    const expires = stored + Math.min(ttlMs, days * DAY_MS);
    store.defer(store.cache.keep({ name, keyId, userId: user ?? null, stored, expires, used: stored, answer }));
    this.#bytes += bytes;
    if (this.#bytes < bytesMax * EVICT_SHARE) return;
    this.#bytes = 0;
    void this.#evict(bytesMax).catch(this.#parts.onError);
  }

  /** Deletes entries once all entries of `keep` are stored, because the limit counts only stored entries. */
  async #evict(bytesMax: number): Promise<void> {
    const { store } = this.#parts;
    await store.flush();
    await store.cache.evict(Math.floor(bytesMax * (1 - 2 * EVICT_SHARE)));
  }

  /** Returns what is stored, of all keys. Rejects with StoreError. */
  sizes(): Promise<CacheSizes> {
    return this.#parts.store.cache.sizes();
  }

  /** Deletes expired entries, and all entries if the policy has no cache. Rejects with StoreError. */
  async prune(policy: CachePolicy | null): Promise<void> {
    const { store, now } = this.#parts;
    await store.cache.prune(policy ? now() : Number.MAX_SAFE_INTEGER);
    if (policy) await store.cache.evict(Math.floor(policy.bytesMax * (1 - EVICT_SHARE)));
  }
}

const nameText = (name: Uint8Array): string => name.toHex();

/** @returns null for an entry that another secret or another version wrote */
function openRow({ name, answer, stored }: FoundRow, seal: AnswerSeal, pace: AnswerTurns['pace']): CachedAnswer | null {
  const text = answer && seal.open(answer, nameText(name));
  const end = text?.indexOf('\n') ?? -1;
  if (text === null || end < 0) return null;
  const head: unknown = JSON.parse(text.slice(0, end));
  if (!headForm.accepts(head)) return null;
  const { decision, tokens } = head;
  const source = replayedAnswer(decision, text.slice(end + 1), { pace, leave: () => {} });
  if (!source?.receipt) return null;
  const usage = tokens === undefined ? source.receipt.usage : plainUsage(tokens, 0);
  const { dropped, adapted } = source.receipt.platform;
  const price = priceOf(source.receipt, tokens);
  return { decision, model: source.model, source, usage, dropped, adapted, price, stored };
}

/** @param tokens of one input of a request for embeddings, which has this share of the price; undefined for the whole answer */
function priceOf({ usage, platform }: Receipt, tokens: number | undefined): Microcredits {
  const price = (platform.credits_consumed ?? 0) * MICROCREDITS;
  const share = tokens === undefined ? 1 : tokens / Math.max(1, usage.inputTokens);
  return Math.round(price * share);
}
