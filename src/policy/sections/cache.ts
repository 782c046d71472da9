import { closed, figure, flag, optional, whole, word } from '../../core/define/fields.ts';
import { expression, writtenAs } from '../../core/define/policy-words.ts';
import { limitFromCredits } from '../../core/money/credits.ts';
import type { CachePartition, CachePolicy } from '../../core/policy/cache.ts';
import { DAY_MS } from '../../core/time/clock.ts';
import { guardViewOf } from '../cel/types.ts';
import { checkValue } from '../check/check.ts';
import { expressionAt } from '../check/expression-drafts.ts';
import { isEmpty, statedSubject } from '../check/section-checks.ts';
import { type DraftContext, defineSection } from '../define/section.ts';

const CacheText = closed(
  'The cache, which answers an equal request again without a model. Default: no cache.',
  {
    when: optional(
      expression(
        'Condition for requests that the cache applies to: CEL over `request`, `key`, `team` and `user`, as in `guards`. Default: all requests. If the condition fails, the cache does not apply.',
        'request.model == "faq"',
        'key.labels.department == "support"',
      ),
    ),
    partition: word(
      {
        key: 'The requests of one key. Entries are encrypted with the secret of the key.',
        team: 'The keys of a team that have equal rights: labels, lists of models and rules that apply.',
        everyone: 'All keys that have equal rights.',
      } satisfies Record<CachePartition, string>,
      'Who shares entries. `key`: the requests of one key. `team`: the keys of a team with equal rights. `everyone`: all keys with equal rights.',
      { default: 'key', example: 'team' },
    ),
    ttl_seconds: whole('How many seconds an answer is used again. `records.retention_days` also limits it.', {
      minimum: 1,
      maximum: (30 * DAY_MS) / 1_000,
      default: 3_600,
    }),
    bytes_max: whole(
      'About how many bytes all stored answers may take on disk. Beyond it, Signalbox deletes the answers that were not used for the longest time.',
      { minimum: 1_048_576, maximum: 1_099_511_627_776, default: 268_435_456 },
    ),
    sampled: flag(
      'Whether the cache also applies to requests without `temperature: 0` or `seed`. A model answers them differently each time, and the cache would repeat one answer.',
      { default: false },
    ),
    price_credits: figure(
      'The price of an answer from the cache, in Credits. At 0 it is served even if a budget is exhausted.',
      { minimum: 0, maximum: 1_000_000, default: 0 },
    ),
  },
  writtenAs('partition: key'),
);

/** The section `cache`. */
export const CACHE = defineSection({
  name: 'cache',
  text: CacheText,
  guard: 'it decides which answers are stored, and which callers get them',
  page: ['Choose', 'cache.md'],
  draft: draftCache,
  *compile(cache, { check }): Generator<undefined, CachePolicy | null> {
    yield;
    const when = check.condition(cache?.when ?? null, 'guard');
    return cache?.terms ? { ...cache.terms, when: when && ((scope) => when.run(guardViewOf(scope))) } : null;
  },
});

/** Checks the section without its condition; null if the policy leaves it out. */
function draftCache({ sections, report }: DraftContext) {
  const stated = statedSubject('cache', sections);
  if (!stated || isEmpty(stated.tree)) return null;
  const data = checkValue(CacheText, stated, report);
  const terms = data && {
    partition: data.partition,
    ttlMs: data.ttl_seconds * 1_000,
    bytesMax: data.bytes_max,
    sampled: data.sampled,
    price: limitFromCredits(data.price_credits),
  };
  return { when: expressionAt(stated, 'when'), terms };
}
