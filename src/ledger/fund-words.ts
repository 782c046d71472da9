import type { FundTitle } from '../core/accounting/fund.ts';
import { fundText } from '../core/money/budget-words.ts';
import { levelOf } from './holder-budgets.ts';

/** Where the definitions of budgets have the time zone: after the word of the level and the window, or after `match`, `each` and the window. */
const ZONE_AT = { level: 2, policy: 3 } as const;

/** The time zone of a budget's windows, from its definition; null for a balance. */
export function timeZoneOf({ definition }: Pick<FundTitle, 'definition'>): string | null {
  if (definition === '') return null;
  const parts: unknown = JSON.parse(definition);
  const zone: unknown = Array.isArray(parts)
    ? parts[levelOf(definition) === null ? ZONE_AT.policy : ZONE_AT.level]
    : null;
  return typeof zone === 'string' ? zone : null;
}

/**
 * Names a fund for people, such as `month of team search, Berlin time`.
 * @param called the name of the key, team or user whose ID is the subject, or of the key that has the balance; null if it has none, or if the reader may not see it
 */
export const titleText = (title: FundTitle, called: string | null): string =>
  fundText({
    kind: title.kind,
    name: (title.kind === 'balance' && called) || title.name,
    subject: called ?? title.subject,
    holder: levelOf(title.definition),
    window: title.window ?? null,
    timeZone: timeZoneOf(title),
  });
