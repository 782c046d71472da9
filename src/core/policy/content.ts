import type { BudgetScope } from '../money/budget.ts';

/** Kinds of personal data that Signalbox can mask before it stores a text. */
export const REDACTIONS = ['email', 'phone', 'card', 'iban', 'ip', 'secret'] as const;
export type Redaction = (typeof REDACTIONS)[number];

/** Which texts of requests and answers Signalbox stores. If the policy has no section `content`, Signalbox stores no texts. */
export interface ContentPolicy {
  /** Whether the texts of a request are stored; null for every request. If the condition throws, Signalbox does not store the texts. */
  readonly match: ((scope: BudgetScope) => boolean) | null;
  readonly keepsPrompt: boolean;
  readonly keepsAnswer: boolean;
  readonly redact: readonly Redaction[];
  /**
   * Whether people may read the texts of their own requests. If people may not read the texts of their own requests, only operators may
   * read texts.
   */
  readonly isOwnReadable: boolean;
  /** The number of days for which Signalbox stores texts. */
  readonly days: number;
}
