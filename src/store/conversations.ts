import type { EscalationSignal } from '../core/request/escalation.ts';
import { HOUR_MS } from '../core/time/clock.ts';
import type { Write } from './store.ts';

/** A conversation without a request for this time has ended, ms. */
export const CONVERSATION_MS = HOUR_MS;

/** A conversation of a key, as keyed hashes and figures, without text. */
export interface ConversationRow {
  /** A keyed hash of the key and of the conversation's first messages. */
  readonly conversation: string;
  /** ID of the key; child keys count as the key that created them. */
  readonly keyId: string;
  /** When it was last answered, scored or escalated, ms since 1970. */
  readonly seen: number;
  /** A keyed hash of the last prompt that ended with a question and was answered; null for none. */
  readonly prompt: string | null;
  /** When that prompt was answered, ms since 1970; 0 for none. */
  readonly promptAt: number;
  /** The latest signal of failure that is not in the transcript; null for none. */
  readonly signal: EscalationSignal | null;
  /** The number of answers that the conversation had when the signal came. */
  readonly answers: number;
  /** Whether the conversation has one of the places that `escalate.share_max` allows. */
  readonly isEscalated: boolean;
}

/** An answer in a conversation. */
export type SeenConversation = Pick<ConversationRow, 'conversation' | 'keyId' | 'seen' | 'prompt'>;

/** A signal of failure that a request or a score brought. */
export type ConversationSignal = Pick<ConversationRow, 'conversation' | 'keyId' | 'seen' | 'answers'> & {
  readonly signal: EscalationSignal;
};

/** How many conversations a key has, and how many of them are escalated; both without those that have ended. */
export interface EscalatedShare {
  readonly escalated: number;
  readonly conversations: number;
}

/** Whether a conversation is escalated, and the share of its key. */
export interface EscalationPlace {
  readonly isEscalated: boolean;
  readonly share: EscalatedShare;
}

/**
 * The conversations of all instances that were used in the last hour. A row that is older counts as absent. The commit that revokes a key
 * deletes its rows. State: conversations.
 */
export interface ConversationTable {
  /** Notes an answer. A prompt of null leaves the earlier prompt. No row is stored for a revoked key. */
  see(answered: SeenConversation): Write;
  /** Notes a signal, which replaces an earlier one. */
  signal(signal: ConversationSignal): Write;
  /**
   * Gives a conversation a place among the escalated conversations of its key. It keeps a place that it has. The commit fails with the
   * reason `unmet` if the key would have more escalated conversations than the share allows; one is always allowed. Instances take turns,
   * so the bound is exact.
   * @param share the highest share of the key's conversations, 0..1
   */
  escalate(conversation: Pick<ConversationRow, 'conversation' | 'keyId' | 'seen'>, share: number): Write;
  /** Returns whether a conversation has a place, with the figures of its key. @param row `seen`: now, ms since 1970 */
  place(row: Pick<ConversationRow, 'conversation' | 'keyId' | 'seen'>): Promise<EscalationPlace>;
  /** Returns the rows that changed after a time (ms since 1970), the newest first. Rejects with StoreError. */
  since(time: number, most: number): Promise<ConversationRow[]>;
  /** Deletes all rows up to a time (ms since 1970), in batches. Returns the number of deleted rows. Rejects with StoreError. */
  prune(until: number): Promise<number>;
}

/** Whether one more escalated conversation is within the share. The first one always is. */
export const hasPlace = ({ escalated, conversations }: EscalatedShare, share: number): boolean =>
  escalated === 0 || escalated + 1 <= share * conversations + SHARE_SLACK;

/** 0.29 × 100 is a little less than 29 as a number of the computer. */
export const SHARE_SLACK = 1e-9;
