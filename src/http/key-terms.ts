import type { Static } from '@sinclair/typebox';
import type { KeyBudget, KeyLimits } from '../core/caller.ts';
import { exactMillionths } from '../core/exact-millionths.ts';
import type { BudgetRequest, LimitsRequest } from './schemas/keys.ts';

/** Reads a budget of a body. @param path of the list of budgets, with a full stop behind it. @throws SignalboxError */
export function budgetOf(budget: Static<typeof BudgetRequest>, at: number, path = ''): KeyBudget {
  const { limit_credits, window, time_zone = 'UTC', on_exhausted = 'cap' } = budget;
  const limit = exactMillionths(limit_credits, `${path}budgets[${at}].limit_credits`);
  return { limit, window, timeZone: time_zone, onExhausted: on_exhausted };
}

/** Reads the limits of a body that it names. */
export function limitsPatchOf(limits: Static<typeof LimitsRequest>): Partial<KeyLimits> {
  const { requests_per_minute: requests, tokens_per_minute: tokens, concurrent_streams: streams } = limits;
  return {
    ...(requests !== undefined && { requestsPerMinute: requests }),
    ...(tokens !== undefined && { tokensPerMinute: tokens }),
    ...(streams !== undefined && { concurrentStreams: streams }),
  };
}
