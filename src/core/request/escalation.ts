/** A score below this is a signal that the answer failed. */
export const LOW_SCORE = 0.5;
/** A request that is sent again within this time after its answer is a signal, minutes. */
export const REPEAT_MINUTES = 5;

/** The signals that an earlier answer of a conversation failed, with what each means. */
export const ESCALATION_SIGNALS = {
  stuck_agent: 'an agent is stuck',
  malformed_call:
    'an answer called an unknown function, or with arguments that are not a JSON object or do not fit its schema',
  broken_schema: 'an answer was not the JSON that its request wants',
  refused_answer: 'an answer was a refusal',
  empty_answer: 'an answer was empty',
  repeated_question: 'the user sent the same question again',
  correction: 'the user said that the answer is wrong',
  low_score: `an answer got a score below ${LOW_SCORE}`,
  repeated_request: `the same request was sent again within ${REPEAT_MINUTES} minutes after its answer`,
} as const;
export type EscalationSignal = keyof typeof ESCALATION_SIGNALS;
export const ESCALATION_NAMES = Object.keys(ESCALATION_SIGNALS) as EscalationSignal[];
/**
 * Signals that operators turn on themselves. Words of complaint are found in one of seven complaints, and half of the sentences that look
 * like complaints are none. Questions and requests are often sent again on purpose.
 */
const OPTIONAL_SIGNALS: readonly EscalationSignal[] = ['correction', 'repeated_question', 'repeated_request'];
/** The signals that count by default. */
export const USUAL_SIGNALS = ESCALATION_NAMES.filter((name) => !OPTIONAL_SIGNALS.includes(name));

/** When conversations move to a better model because an answer failed. */
export interface EscalationTerms {
  /** The signals that count. */
  readonly on: readonly EscalationSignal[];
  /** How many answers without a signal end an escalation. */
  readonly turns: number;
  /** Whether a better model is tried in the same request, if the answer alone shows a signal. */
  readonly secondAttempt: boolean;
  /** The highest share of a key's recent conversations that may be escalated, 0..1; null for no limit. */
  readonly shareMax: number | null;
}

/** The latest signal that escalates a session. */
export interface Escalation {
  readonly signal: EscalationSignal;
  /** The number of answers since the signal; 0 if the latest answer failed or was questioned. */
  readonly turnsAgo: number;
}

/** A signal without effect. */
export interface Unescalated extends Escalation {
  /**
   * The sessions of the key in the last hour, and how many of them were escalated, which was too many; null if they could not be counted,
   * and if money was short.
   */
  readonly share: { readonly escalated: number; readonly conversations: number } | null;
  /** Present if the session was not escalated because the funds of the caller cannot pay for it. */
  readonly isUnpaid?: true;
}
