import type { BudgetScope } from './budget.ts';

/** Kinds of text that can be masked before a text is kept. */
export const REDACTIONS = ['email', 'phone', 'card', 'iban', 'ip', 'secret'] as const;
export type Redaction = (typeof REDACTIONS)[number];

/** Which texts of requests and answers are kept. Without it in the policy: none. */
export interface ContentPolicy {
  /** Whether a request's words are kept; null for those of every request. May throw, and then they are not. */
  readonly match: ((scope: BudgetScope) => boolean) | null;
  readonly keepsPrompt: boolean;
  readonly keepsAnswer: boolean;
  readonly redact: readonly Redaction[];
  /** Whether people may read the texts of their own requests; otherwise operators alone read any. */
  readonly isOwnReadable: boolean;
  /** How long it is kept, days. */
  readonly days: number;
}
