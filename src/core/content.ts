import type { BudgetScope } from './budget.ts';

/** Kinds of personal data that Signalbox can mask before it stores a text. */
export const REDACTIONS = ['email', 'phone', 'card', 'iban', 'ip', 'secret'] as const;
export type Redaction = (typeof REDACTIONS)[number];

/** Which texts of requests and answers Signalbox stores. If the policy has no such section, it stores none. */
export interface ContentPolicy {
  /** Whether the texts of a request are stored; null for every request. If the condition throws, they are not stored. */
  readonly match: ((scope: BudgetScope) => boolean) | null;
  readonly keepsPrompt: boolean;
  readonly keepsAnswer: boolean;
  readonly redact: readonly Redaction[];
  /** Whether people may read the texts of their own requests. Otherwise only operators may read texts. */
  readonly isOwnReadable: boolean;
  /** How many days texts are stored. */
  readonly days: number;
}
