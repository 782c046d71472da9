import { basename } from 'node:path';
import { findingsOf, type GuardFinding } from '../../core/decision/verdict.ts';
import type { GuardRule } from '../../core/policy/guards.ts';
import type { FailingGuard } from '../../core/tables/alerts/guard-failing.ts';
import type { GuardHealth } from '../../gateway/guards/guard-health.ts';
import type { RecordEntry, RecordLog } from '../../store/records.ts';
import { type CountQuery, countRecords } from './counted-records.ts';
import type { Principal } from './principal.ts';
import type { Sight } from './sight.ts';

/** How many keys and models of a guard are named. */
const TOP = 5;

/** The actions of a guard, in numbers of requests. */
interface Counts {
  /** Requests to which the guard applies. */
  requests: number;
  /** Requests with a match in the text of the request or the answer. */
  matched: number;
  blocked: number;
  masked: number;
  /** Requests whose answer was repaired. */
  repaired: number;
  flagged: number;
  failed: number;
}

const NAMES: Readonly<Record<GuardFinding, keyof Counts>> = {
  block: 'blocked',
  mask: 'masked',
  repair: 'repaired',
  flag: 'flagged',
  failed: 'failed',
};

class GuardCount {
  readonly counts: Counts = {
    ...{ requests: 0, matched: 0, blocked: 0, masked: 0, repaired: 0, flagged: 0, failed: 0 },
  };
  /** Requests with a match, by the ID of the key and by model. */
  readonly keys = new Map<string, number>();
  readonly models = new Map<string, number>();

  add(findings: ReadonlySet<GuardFinding>, { keyId, model, status }: RecordEntry, requests: number): void {
    for (const finding of findings) this.counts[NAMES[finding]] += requests;
    if (findings.size === 0 || (findings.size === 1 && findings.has('failed'))) return;
    this.counts.matched += requests;
    addTo(this.keys, keyId, requests);
    // A refused request can name any text as its model.
    if (status !== 'refused') addTo(this.models, model, requests);
  }
}

function addTo(counts: Map<string, number>, name: string, requests: number): void {
  if (name !== '') counts.set(name, (counts.get(name) ?? 0) + requests);
}

const topOf = (counts: ReadonlyMap<string, number>) =>
  [...counts].sort(([, one], [, other]) => other - one).slice(0, TOP);

interface CountTerms {
  readonly sight: Sight;
  readonly rules: readonly GuardRule[];
  /** Null without a server. */
  readonly health?: Pick<GuardHealth, 'of'> | null;
  readonly most?: number;
}

/**
 * Counts what guards found in the requests that a principal may see, the newest first, in a limited number of records.
 * @param rules the guards of the active policy; empty if it is not known
 * @throws StoreError, by rejecting
 */
export async function countGuards(
  by: Principal,
  log: Pick<RecordLog, 'list'>,
  query: CountQuery,
  { sight, rules, health, most }: CountTerms,
) {
  const guards = new Map(rules.map(({ name }) => [name, new GuardCount()]));
  let requests = 0;
  const countedFrom = await countRecords(by, log, query, { sight, most }, (entry) => {
    requests += countEntry(guards, entry);
  });
  const data = await Promise.all(
    [...guards].map(async ([name, count]) => ({
      ...(await bodyOf(name, count, rules, sight)),
      failing: failingBody(health?.of(name) ?? null, sight),
    })),
  );
  return { requests, countedFrom, data };
}

/** @returns how many requests the entry stands for */
function countEntry(guards: Map<string, GuardCount>, entry: RecordEntry): number {
  const requests = entry.summary?.refused?.answers ?? 1;
  const found = new Map<string, Set<GuardFinding>>();
  for (const verdict of entry.summary?.guards ?? []) {
    const findings = found.getOrInsertComputed(verdict.guard, () => new Set());
    for (const finding of findingsOf(verdict)) findings.add(finding);
  }
  const countOf = (name: string) => guards.getOrInsertComputed(name, () => new GuardCount());
  for (const name of entry.summary?.guardedBy ?? []) countOf(name).counts.requests += requests;
  for (const [name, findings] of found) countOf(name).add(findings, entry, requests);
  return requests;
}

const failingBody = (failing: FailingGuard | null, { showsUpstream }: Sight) =>
  failing && { ...failing, error: showsUpstream ? failing.error : null };

async function bodyOf(name: string, { counts, keys, models }: GuardCount, rules: readonly GuardRule[], sight: Sight) {
  const rule = rules.find((one) => one.name === name);
  const topKeys = topOf(keys);
  await sight.learn(topKeys.map(([id]) => id));
  return {
    name,
    plugin: rule?.plugin ?? null,
    on: rule ? [...rule.on] : null,
    onMatch: rule?.onMatch ?? null,
    isConditional: rule ? rule.when !== null : null,
    file: rule ? basename(rule.place.file) : null,
    line: rule?.place.line ?? null,
    ...counts,
    keys: topKeys.map(([id, matched]) => ({ id: sight.isNarrow ? null : id, name: sight.nameOf(id), matched })),
    models: topOf(models).map(([id, matched]) => ({ id, matched })),
  };
}
