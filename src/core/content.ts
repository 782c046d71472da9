import type { BudgetScope } from './budget.ts';

/** What can be taken out of a text before it is kept. */
export const REDACTIONS = ['email', 'phone', 'card', 'iban', 'ip', 'secret'] as const;
export type Redaction = (typeof REDACTIONS)[number];

/** What of the words of requests and answers is kept. Without one in the policy: nothing. */
export interface ContentPolicy {
  /** Whether a request's words are kept; null for those of every request. May throw, and then they are not. */
  readonly match: ((scope: BudgetScope) => boolean) | null;
  readonly keepsPrompt: boolean;
  readonly keepsAnswer: boolean;
  readonly redact: readonly Redaction[];
  /** How long it is kept, days. */
  readonly days: number;
}
