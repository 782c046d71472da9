import type { RateLimit } from '../core/rate-limit.ts';
import { limitViewOf } from './cel-types.ts';
import { validPartsOf } from './check.ts';
import { checkNeeded } from './key-rules.ts';
import { checkLimit } from './limits.ts';
import { eachOf, expressionAt } from './rule-drafts.ts';
import { RATE_KEYS, ratesOf } from './schema-limits.ts';
import { closed, itemName, needsOneOf, optional } from './schema-parts.ts';
import { defineList, ORDINARY } from './section-definition.ts';
import { placeAt } from './tree.ts';

const RateLimitText = closed(
  'A limit on how fast requests come. At least one of `requests_per_minute`, `tokens_per_minute` and `concurrent_streams`.',
  {
    name: itemName('Its name, in messages. Under another name it is another limit, which begins anew.', 'per-key'),
    each: optional.expression(
      'Groups with a share each: `key`, `team`, `user` (short for `key.id` and so on), `address`, or CEL over `key`, `team` and `user` that gives a text. Default: one share.',
      'team',
      'key',
      'address',
      'key.labels.project',
    ),
    match: optional.expression(
      'Keys that it covers: CEL over `key`, `team` and `user`. Default: all.',
      'key.labels.tier == "free"',
      'team.name == "search"',
    ),
    ...RATE_KEYS,
  },
  needsOneOf(...Object.keys(RATE_KEYS)),
);

/** The section `rate_limits`. */
export const RATE_LIMITS = defineList({
  description: 'Limits on the rate of requests.',
  item: RateLimitText,
  guard: ORDINARY,
  page: ['Spend', '../spend/rate-limits.md'],
  draft: (items, report) =>
    items.map((named) => {
      const { name, tree, data } = named;
      const place = placeAt(tree, 'name');
      if (data) checkNeeded(RateLimitText, { ...named, place }, report);
      const figures = ratesOf(data ?? validPartsOf(RateLimitText, tree));
      const each = eachOf(named);
      // `address` is not an expression and stands alone.
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
