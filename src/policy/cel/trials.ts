import type { BudgetScope } from '../../core/money/budget.ts';
import type { GuardScope } from '../../core/policy/guards.ts';
import type { LimitScope } from '../../core/policy/rate-limit.ts';
import type { RuleScope } from '../../core/policy/rules.ts';
import { NO_CALLER } from '../../core/tables/facts/caller.ts';
import { emptyFacts } from '../../core/tables/facts/define.ts';
import { GUARD_FACTS } from '../../core/tables/facts/guarded.ts';
import { REQUEST_FACTS } from '../../core/tables/facts/request.ts';
import { TIME_FACTS } from '../../core/tables/facts/time.ts';
import { messageOf } from '../../core/thrown.ts';
import type { Program } from './check.ts';

type View = Parameters<Program['run']>[0];

/** A request without optional fields. Conditions must not fail on a request without optional fields. */
export const EMPTY_REQUEST: RuleScope = {
  request: emptyFacts(REQUEST_FACTS),
  ...NO_CALLER,
  time: emptyFacts(TIME_FACTS),
};

/** A request without optional fields, as guards see it. */
export const EMPTY_GUARDED: GuardScope = {
  request: emptyFacts(GUARD_FACTS),
  ...NO_CALLER,
};

/** A key without labels, team and user, for budgets and rate limits. */
export const EMPTY_KEY: BudgetScope & LimitScope = {
  request: { model: 'auto' },
  ...NO_CALLER,
  key: { id: 'k', labels: new Map() },
};

/** Returns the value of an expression, or the reason of its failure on one line. */
export function tryRun<Value>(
  program: { run(view: View): Value },
  view: View,
): { readonly value?: Value; readonly failure?: string } {
  try {
    return { value: program.run(view) };
  } catch (error) {
    const [failure = ''] = messageOf(error).split('\n', 1);
    return { failure };
  }
}
