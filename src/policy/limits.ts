import type { RateLimit } from '../core/rate-limit.ts';
import { type EachContext, reviewEach } from './budgets.ts';
import type { Program, TextProgram } from './cel-check.ts';
import { limitViewOf } from './cel-types.ts';
import type { ExpressionChecker } from './expressions.ts';
import type { RateLimitDraft } from './limit-drafts.ts';
import type { ParsedPolicy } from './parsed.ts';
import type { Report } from './report.ts';

/** A rate limit with its checked expressions; null for an expression that is absent or wrong. */
export interface CheckedRateLimit {
  readonly draft: RateLimitDraft;
  readonly match: Program | null;
  readonly each: TextProgram | null;
}

const OF_LIMITS: EachContext = { kind: 'limit', viewOf: limitViewOf, unit: 'limit' };

/** Checks the expressions of every rate limit. */
export function* checkRateLimits(
  { rateLimits }: ParsedPolicy,
  check: ExpressionChecker,
  report: Report,
): Generator<undefined, readonly CheckedRateLimit[]> {
  const checked: CheckedRateLimit[] = [];
  for (const draft of rateLimits) {
    const match = check.match(draft.match, 'limit');
    const each = draft.each === 'address' ? null : check.each(draft.each, 'limit');
    // A wrong `match` does not tell which keys `each` runs for.
    if (each && (match || !draft.match)) reviewEach(each, match, report, OF_LIMITS);
    checked.push({ draft, match, each });
    yield;
  }
  return checked;
}

export function compileRateLimit({ draft, match, each }: CheckedRateLimit): RateLimit {
  const { name, place, figures } = draft;
  return {
    name,
    place,
    match: match && ((scope) => match.run(limitViewOf(scope))),
    each: draft.each === 'address' ? 'address' : each && ((scope) => each.run(limitViewOf(scope))),
    figures,
  };
}
