import type { Awaitable } from '../../core/awaitable.ts';
import type { DecisionRecord } from '../../core/decision/record.ts';
import type { PolicySnapshot } from '../../core/policy/snapshot.ts';
import { type Escalation, type EscalationTerms, LOW_SCORE, REPEAT_MINUTES } from '../../core/request/escalation.ts';
import type { ConversationPlace, Facts } from '../../core/request/facts.ts';
import { MINUTE_MS } from '../../core/time/clock.ts';
import type { Timer, Timers } from '../../core/time/timers.ts';
import { withoutEscalation } from '../../routing/tiers.ts';
import {
  CONVERSATION_MS,
  type ConversationRow,
  type ConversationSignal,
  type EscalatedShare,
  hasPlace,
} from '../../store/conversations.ts';
import type { Repositories } from '../../store/repositories.ts';
import { type Deferral, isMet, type Store, type Write } from '../../store/store.ts';
import type { PromptHistory } from './affinity.ts';

const REPEAT_MS = REPEAT_MINUTES * MINUTE_MS;
/** The most conversations in memory; they take about 20 MB. */
const MOST = 50_000;
/** An answer without a question, such as each step of an agent, is stored at most this often, ms. */
const STEP_EVERY_MS = 5 * MINUTE_MS;
/** Servers that share a database read the changes of the others this often, ms. */
const PULL_EVERY_MS = 500;
/** A commit may become visible this long after the time in its rows, ms. */
const COMMIT_MS = 2_000;

type ConversationStore = Pick<Store, 'commit'> & Deferral & Pick<Repositories, 'conversations'>;

/** Whether a policy needs conversations: for signals that are not in transcripts, or to limit how many are escalated. */
const isFollowed = ({ on, shareMax }: EscalationTerms): boolean =>
  on.length > 0 && (shareMax !== null || on.includes('low_score') || on.includes('repeated_request'));

/** Whether requests may read conversations: only a selector with a ladder escalates. */
export const isRead = ({ escalate, selectors }: Pick<PolicySnapshot, 'escalate' | 'selectors'>): boolean =>
  isFollowed(escalate) && [...selectors.values()].some(({ ladder }) => ladder !== undefined);

type KeyedConversation = Pick<ConversationRow, 'conversation' | 'keyId' | 'seen'>;

/** The part of a policy that decides which conversations are followed. */
type EscalationPolicy = Pick<PolicySnapshot, 'escalate'>;

/**
 * The conversations of the last hour: signals of failure that are not in the transcript, and the places of escalated conversations. The
 * store has them, so that all servers agree; this server's copy answers requests without a query. It has hashes and figures, no text.
 * State: conversations.
 */
export class Conversations {
  readonly #store: ConversationStore;
  readonly #now: () => number;
  /** By last change, the oldest first. */
  readonly #known = new Map<string, ConversationRow>();
  /** The time of the newest row that was read, ms since 1970. */
  #newest = 0;
  #timer: Timer | null = null;

  /** @param now ms since 1970, by the clock of the store */
  constructor(store: ConversationStore, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  /** The number of conversations in memory. */
  get size(): number {
    return this.#known.size;
  }

  /** Adds to the facts of a request its conversation, and a signal that is later than the signal in its transcript. */
  read(facts: Facts, history: PromptHistory, { escalate: terms }: EscalationPolicy): Facts {
    if (facts.tier === undefined || !isFollowed(terms)) return facts;
    const { on, turns } = terms;
    const conversation = history.place();
    const signal = this.#signalIn(conversation, on.includes('repeated_request') ? history : null);
    const isCounted = signal !== null && signal.turnsAgo < turns && on.includes(signal.signal);
    const isLatest = isCounted && signal.turnsAgo < (facts.escalation?.turnsAgo ?? Number.POSITIVE_INFINITY);
    return isLatest ? { ...facts, conversation, escalation: signal } : { ...facts, conversation };
  }

  /**
   * Takes a place for an escalated conversation, if the policy limits them. Only a request with a signal whose conversation has no place yet
   * waits for the store.
   * @param isServed whether the request will be carried out; otherwise no place is taken
   * @returns the facts; not escalated if there is no place
   */
  admit(
    facts: Facts,
    keyId: string,
    { escalate: { shareMax } }: EscalationPolicy,
    isServed: boolean,
  ): Awaitable<Facts> {
    const { escalation, conversation } = facts;
    if (shareMax === null || !escalation || !conversation) return facts;
    if (this.#find(conversation.id)?.isEscalated) return facts;
    const row = { conversation: conversation.id, keyId, seen: this.#now() };
    return withPlace(facts, this.#refusalOf(row, shareMax, isServed));
  }

  /** @returns the figures of the key if a conversation has and gets no place; otherwise null */
  async #refusalOf(row: KeyedConversation, shareMax: number, isServed: boolean): Promise<EscalatedShare | null> {
    const { conversations } = this.#store;
    const { isEscalated, share } = await conversations.place(row);
    if (!isEscalated && !hasPlace(share, shareMax)) return share;
    if (!isServed) return null;
    // Another server may have taken the place since it was read. A place that the conversation has is renewed.
    if (!(await isMet(this.#store.commit([conversations.escalate(row, shareMax)]))))
      return (await conversations.place(row)).share;
    this.#keep({ ...this.#rowOf(row), isEscalated: true });
    return null;
  }

  /** Notes that a request is sent to a model. If it repeats an answered request, later turns must know. */
  noteSent(facts: Facts, keyId: string): void {
    const { conversation, escalation = facts.unescalated } = facts;
    if (!conversation || escalation?.signal !== 'repeated_request' || escalation.turnsAgo > 0) return;
    const { id, answers } = conversation;
    const signal = { conversation: id, keyId, seen: this.#now(), answers, signal: escalation.signal } as const;
    this.noteSignal(signal);
    this.#store.defer(this.signalWrite(signal));
  }

  /** Notes a complete answer. */
  noteAnswer({ conversation }: Facts, history: PromptHistory, { escalate: terms }: EscalationPolicy): void {
    if (!conversation) return;
    const prompt = terms.on.includes('repeated_request') ? history.question() : null;
    const seen = this.#now();
    const known = this.#find(conversation.id);
    // The record of a decision has the conversation of a score, so scores alone need no row.
    if (prompt === null && terms.shareMax === null && !known?.signal) return;
    if (prompt === null && known && seen - known.seen < STEP_EVERY_MS) return;
    const row = { conversation: conversation.id, keyId: history.keyId, seen, prompt };
    this.#keep({ ...this.#rowOf(row), ...(prompt !== null && { prompt, promptAt: seen }) });
    this.#store.defer(this.#store.conversations.see(row));
  }

  /** Returns the signal that a score is; null for none. The caller stores it together with the score. */
  lowScore(
    { facts: { conversation } }: Pick<DecisionRecord, 'facts'>,
    keyId: string,
    score: number,
    { escalate: { on } }: EscalationPolicy,
  ): ConversationSignal | null {
    if (!conversation || score >= LOW_SCORE || !on.includes('low_score')) return null;
    // The answer that failed comes after the answers that the request had.
    const answers = conversation.answers + 1;
    return { conversation: conversation.id, keyId, seen: this.#now(), answers, signal: 'low_score' };
  }

  signalWrite(signal: ConversationSignal): Write {
    return this.#store.conversations.signal(signal);
  }

  /** Notes a signal whose write the caller has stored. */
  noteSignal(signal: ConversationSignal): void {
    this.#keep({ ...this.#rowOf(signal), ...signal });
  }

  /** Reads what other servers have changed. Rejects with StoreError. */
  async pull(): Promise<void> {
    const since = Math.max(this.#newest - COMMIT_MS, this.#now() - CONVERSATION_MS);
    const rows = await this.#store.conversations.since(since, MOST);
    for (const row of rows.toReversed()) {
      this.#newest = Math.max(this.#newest, row.seen);
      if (row.seen >= (this.#known.get(row.conversation)?.seen ?? 0)) this.#keep(row);
    }
  }

  /** Follows the other servers that share the database, until `close`. @param isNeeded whether the policy needs it now */
  follow(timers: Timers, isNeeded: () => boolean): void {
    let isBusy = false;
    const pull = async () => {
      if (isBusy || !isNeeded()) return;
      isBusy = true;
      // The next pull repeats a failed one.
      await this.pull().catch(() => {});
      isBusy = false;
    };
    this.#timer = timers.every(PULL_EVERY_MS, () => void pull());
  }

  close(): void {
    this.#timer?.close();
  }

  /** Deletes conversations that have ended. Rejects with StoreError. */
  async prune(): Promise<void> {
    await this.#store.conversations.prune(this.#now() - CONVERSATION_MS);
  }

  /** @param history null if repeated requests do not count */
  #signalIn({ id, answers }: ConversationPlace, history: PromptHistory | null): Escalation | null {
    const known = this.#find(id);
    if (!known) return null;
    const { prompt, promptAt, signal } = known;
    const isRecent = history !== null && prompt !== null && this.#now() - promptAt < REPEAT_MS;
    if (isRecent && history.question() === prompt) return { signal: 'repeated_request', turnsAgo: 0 };
    // A conversation that went back further than the answer that failed is probably another one with the same beginning.
    const turnsAgo = answers - known.answers;
    return signal === null || turnsAgo < -1 ? null : { signal, turnsAgo: Math.max(0, turnsAgo) };
  }

  /** Returns a conversation that has not ended. */
  #find(id: string): ConversationRow | undefined {
    const known = this.#known.get(id);
    return known && this.#now() - known.seen < CONVERSATION_MS ? known : undefined;
  }

  #rowOf({ conversation, keyId, seen }: KeyedConversation): ConversationRow {
    const known = this.#find(conversation);
    if (known) return { ...known, seen };
    return { conversation, keyId, seen, prompt: null, promptAt: 0, signal: null, answers: 0, isEscalated: false };
  }

  #keep(row: ConversationRow): void {
    this.#known.delete(row.conversation);
    this.#known.set(row.conversation, row);
    if (this.#known.size > MOST) this.#known.delete(this.#known.keys().next().value!);
  }
}

/**
 * Passes on the facts of an escalated request once its conversation has a place; not escalated without a place.
 * @param placing resolves with the figures of the key if there is no place, and with null if there is
 */
const withPlace = (facts: Facts, placing: Promise<EscalatedShare | null>): Promise<Facts> =>
  placing.then(
    (refused) => (refused ? withoutEscalation(facts, { share: refused }) : facts),
    () => withoutEscalation(facts, { share: null }),
  );
