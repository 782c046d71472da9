import type { ValueOf } from '../core/define/field.ts';
import * as f from '../core/define/fields.ts';
import { refuse } from '../core/errors.ts';
import type { CachePolicy } from '../core/policy/cache.ts';
import { plural } from '../core/text/text.ts';
import { DAY_MS } from '../core/time/clock.ts';
import type { CacheTable } from '../store/cache.ts';
import { CacheStatus } from './cache-status.ts';
import { COUNTED_INPUT, keysIn } from './decisions.ts';
import type { GuardServices } from './guards.ts';
import { operationsOn } from './kit/operation.ts';
import { countCache } from './use-cases/cache.ts';
import { holderOf } from './use-cases/places.ts';
import { checkShown } from './use-cases/sight.ts';

/** The services that count what the cache did. */
export interface CacheServices extends Pick<GuardServices, 'sightOf' | 'ownersOf' | 'records' | 'counts'> {
  /** The cache of the active policy; null if it has none, or if the policy is not known. */
  cachePolicy(): CachePolicy | null;
  /** Null without a server. */
  readonly cachedAnswers: Pick<CacheTable, 'sizes'> | null;
}

type Status = ValueOf<typeof CacheStatus>;

/** The operation of `GET /admin/cache` and `signalbox cache status`. */
export const showCache = operationsOn<CacheServices>()({
  name: 'cache status',
  use: 'to see how many requests the cache answers, and what that saves.',
  example: 'cache status --from 2026-11-20',
  http: 'GET /admin/cache',
  action: 'decisions.list',
  summary: 'Show the hits and savings of the cache',
  details:
    'Says how many requests of the period the cache answered, how much that saved, and why it did not apply to others, by model and key. Also says how many answers are stored. The figures come from the records of requests, the newest first, up to about 100,000 records; `counted_from` says if there are more. A user or key can run 4 counts at once, and a server 8. Members see the requests of their own keys. Leads see the requests of keys of their team.',
  input: COUNTED_INPUT,
  output: CacheStatus,
  answer: 'The status.',
  errorField: 'to',
  errors: ['rate_limit_exceeded', 'overloaded'],
  prints: {
    columns: ['model', 'key_name', 'key_id', 'hits', 'partial', 'misses', 'hit_share', 'saved_credits', 'saved_usd'],
    of: 'data',
    sum: sentences,
  },
  async run(
    { records, sightOf, ownersOf, counts, cachePolicy, cachedAnswers },
    { by, now, reach },
    { from, to = now, key, team, user, model },
  ) {
    const sight = sightOf(by);
    checkShown(sight, { user });
    const start = from ?? to - DAY_MS;
    if (start >= to) refuse('to', '`to` must be later than `from`.');
    const query = {
      ...{ from: start, to },
      ...(model !== undefined && { model }),
      ...(await keysIn(key, sight)),
      ...ownersOf(by, { team, user }),
    };
    const leave = counts.enter(holderOf(by.caller));
    const counted = await countCache(by, records, query, { sight }).finally(leave);
    const stored = reach === 'all' && cachedAnswers ? await cachedAnswers.sizes() : null;
    return { from: start, to, ...counted, settings: settingsOf(cachePolicy()), stored };
  },
});

const settingsOf = (policy: CachePolicy | null): Status['settings'] =>
  policy && {
    partition: policy.partition,
    ttlSeconds: policy.ttlMs / 1_000,
    bytesMax: policy.bytesMax,
    price: policy.price,
    isConditional: policy.when !== null,
    sampled: policy.sampled,
  };

/** The JSON form of the status, as far as the command prints it in sentences. */
interface Wire {
  readonly from: string;
  readonly to: string;
  readonly counted_from: string | null;
  readonly requests: number;
  readonly hits: number;
  readonly partial: number;
  readonly misses: number;
  readonly saved_credits: number;
  readonly saved_usd: string;
  readonly skipped: readonly { readonly reason: string; readonly requests: number }[];
  readonly stored: { readonly answers: number; readonly bytes: number; readonly oldest_at: string | null } | null;
}

function sentences(status: Wire): string {
  const { from, to, counted_from, requests, hits, partial, misses, saved_credits, saved_usd, skipped, stored } = status;
  const more = counted_from === null ? '' : ' Earlier requests of the period are not counted.';
  const lines = [
    `${plural(requests, 'request')} from ${f.minuteText(counted_from ?? from)} to ${f.minuteText(to)}: ${plural(hits, 'hit')}, ${partial} partial, ${misses} missed.${more}`,
    `Saved: ${saved_credits} Credits, ${saved_usd} USD.`,
    ...(skipped.length > 0
      ? [`Not cacheable: ${skipped.map(({ reason, requests: count }) => `${count} ${reason}`).join(', ')}.`]
      : []),
    ...(stored ? [storedSentence(stored)] : []),
  ];
  return `${lines.join('\n')}\n`;
}

const storedSentence = ({ answers, bytes, oldest_at }: NonNullable<Wire['stored']>): string =>
  `Stored: ${plural(answers, 'answer')}, ${Math.ceil(bytes / 1_024)} KiB${oldest_at === null ? '' : `, the oldest from ${f.minuteText(oldest_at)}`}.`;
