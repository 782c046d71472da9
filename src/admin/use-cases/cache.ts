import type { Microcredits } from '../../core/money/credits.ts';
import { CACHE_SKIPS, type CacheResult, type CacheSkip } from '../../core/policy/cache.ts';
import type { RecordEntry, RecordLog } from '../../store/records.ts';
import { type CountQuery, countRecords } from './counted-records.ts';
import type { Principal } from './principal.ts';
import type { Sight } from './sight.ts';

/** How many keys, and how many models, are named. */
const NAMED_MAX = 50;

/** Requests that the cache applies to, by its results, and what it saved. */
class CacheCount {
  hits = 0;
  partial = 0;
  misses = 0;
  /** The price of the repeated answers without the price of the hits, microcredits. */
  saved: Microcredits = 0;

  get applied(): number {
    return this.hits + this.partial + this.misses;
  }

  add(result: CacheResult, saved: Microcredits): void {
    this[MEMBERS[result]]++;
    this.saved += saved;
  }

  get body() {
    const { hits, partial, misses, saved, applied } = this;
    return { hits, partial, misses, hitShare: applied === 0 ? null : hits / applied, saved };
  }
}

const MEMBERS = { hit: 'hits', partial: 'partial', miss: 'misses' } as const satisfies Record<CacheResult, string>;

const isSkip = (word: CacheResult | CacheSkip): word is CacheSkip => CACHE_SKIPS.some((skip) => skip === word);

/** Counts of the results of the cache in some requests. */
class CacheReport {
  requests = 0;
  /** The cost of the hits, microcredits. */
  charged: Microcredits = 0;
  readonly all = new CacheCount();
  readonly skips = new Map<CacheSkip, number>();
  readonly models = new Map<string, CacheCount>();
  readonly keys = new Map<string, CacheCount>();

  add({ summary, keyId, model }: RecordEntry): void {
    this.requests += summary?.refused?.answers ?? 1;
    const word = summary?.cache ?? null;
    if (word === null) return;
    if (isSkip(word)) {
      this.skips.set(word, (this.skips.get(word) ?? 0) + 1);
      return;
    }
    const charged = word === 'hit' ? (summary?.charged ?? 0) : 0;
    this.charged += charged;
    const counts = [
      this.all,
      this.models.getOrInsertComputed(model, () => new CacheCount()),
      this.keys.getOrInsertComputed(keyId, () => new CacheCount()),
    ];
    for (const count of counts) count.add(word, (summary?.spared ?? 0) - charged);
  }
}

const largest = (counts: ReadonlyMap<string, CacheCount>) =>
  [...counts].sort(([, one], [, other]) => other.applied - one.applied).slice(0, NAMED_MAX);

/**
 * Counts what the cache did in the requests that a principal may see, the newest first, in a limited number of records.
 * @throws StoreError, by rejecting
 */
export async function countCache(
  by: Principal,
  log: Pick<RecordLog, 'list'>,
  query: CountQuery,
  { sight, most }: { readonly sight: Sight; readonly most?: number },
) {
  const report = new CacheReport();
  const countedFrom = await countRecords(by, log, query, { sight, most }, (entry) => report.add(entry));
  const { requests, charged, all, skips, models } = report;
  const keys = largest(report.keys);
  await sight.learn(keys.map(([id]) => id));
  return {
    requests,
    countedFrom,
    ...all.body,
    charged,
    skipped: [...skips].map(([reason, count]) => ({ reason, requests: count })).sort((a, b) => b.requests - a.requests),
    data: [
      ...largest(models).map(([model, count]) => ({
        by: 'model' as const,
        model,
        key: null,
        keyName: null,
        ...count.body,
      })),
      ...keys.map(([id, count]) => {
        const key = sight.isNarrow ? null : id || null;
        return { by: 'key' as const, model: null, key, keyName: sight.nameOf(id), ...count.body };
      }),
    ],
  };
}
