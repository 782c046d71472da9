import { closed, optional } from '../../core/define/fields.ts';
import { expression, itemName, needsOneOf } from '../../core/define/policy-words.ts';
import type { RateLimit } from '../../core/policy/rate-limit.ts';
import { limitViewOf } from '../cel/types.ts';
import { validPartsOf } from '../check/check.ts';
import { eachOf, expressionAt } from '../check/expression-drafts.ts';
import { checkNeeded } from '../check/key-rules.ts';
import { defineList, ORDINARY } from '../define/section.ts';
import { RATE_KEYS, ratesOf } from '../schema/limits.ts';
import { placeAt } from '../yaml/tree.ts';
import { checkLimit } from './limits.ts';

const RateLimitText = closed(
  'A limit on how fast requests arrive. State at least one of `requests_per_minute`, `tokens_per_minute` and `concurrent_streams`.',
  {
    name: itemName(
      'Name of the limit, in messages. A renamed limit is a new limit and starts with full capacity.',
      'per-key',
    ),
    each: optional(
      expression(
        'Gives each group of requests a limit of its own. Write `key`, `team`, `user` (short for `key.id`, `team.id`, `user.id`) or `address` (the caller’s IP address), or a CEL expression over `key`, `team` and `user` whose result is a text. Default: all requests share one limit.',
        'team',
        'key',
        'address',
        'key.labels.project',
      ),
    ),
    match: optional(
      expression(
        'Condition that selects the keys which the limit applies to: CEL over `key`, `team` and `user`. Default: all keys.',
        'key.labels.tier == "free"',
        'team.name == "search"',
      ),
    ),
    ...RATE_KEYS,
  },
  needsOneOf(...Object.keys(RATE_KEYS)),
);

/** The section `rate_limits`. */
export const RATE_LIMITS = defineList({
  name: 'rate_limits',
  description: 'Limits on the rate of requests.',
  item: RateLimitText,
  guard: ORDINARY,
  page: ['Spend', '../spend/rate-limits.md'],
  draft: (items, { report }) =>
    items.map((named) => {
      const { name, tree, data } = named;
      const place = placeAt(tree, 'name');
      if (data) checkNeeded(RateLimitText, { ...named, place }, report);
      const figures = ratesOf(data ?? validPartsOf(RateLimitText, tree));
      const each = eachOf(named);
      // The word `address` in `each` is a keyword, not an expression.
      const divides = each?.text.trim() === 'address' ? ('address' as const) : each;
      return { name, place, match: expressionAt(named, 'match'), each: divides, figures };
    }),
  compile(draft, { check, report }): RateLimit {
    const { match, each } = checkLimit(draft, 'limit', check, report);
    return {
      ...draft,
      match: match && ((scope) => match.run(limitViewOf(scope))),
      each: draft.each === 'address' ? 'address' : each && ((scope) => each.run(limitViewOf(scope))),
    };
  },
});
