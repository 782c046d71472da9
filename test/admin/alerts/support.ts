import { type AlertJudgement, type AlertMemory, dueAlerts } from '../../../src/admin/alerts/rules.ts';
import type { AlertRule } from '../../../src/core/policy/alerts.ts';
import type { AnswersReading } from '../../../src/core/tables/alerts/answers.ts';
import type { BudgetWindowReading } from '../../../src/core/tables/alerts/budgets.ts';
import type { SubjectShare } from '../../../src/core/tables/alerts/cached-share.ts';
import type { GuardReading } from '../../../src/core/tables/alerts/guard-failing.ts';
import type { AlertReadings, AlertTrigger } from '../../../src/core/tables/alerts/index.ts';
import type { ExpiringKey } from '../../../src/core/tables/alerts/key-expiry.ts';
import type { ProviderKeyReading } from '../../../src/core/tables/alerts/key-refused.ts';
import type { ProviderReading } from '../../../src/core/tables/alerts/provider-down.ts';
import { STATED_MIN, type StatedReading } from '../../../src/core/tables/alerts/stated-cost.ts';
import type { AlertMark } from '../../../src/store/alerts.ts';

export const DAY_MS = 86_400_000;
export const START = Date.UTC(2026, 10, 1);
export const END = Date.UTC(2026, 11, 1);
export const OWNER = { slot: 0, epoch: 1 };

export const rule = (trigger: AlertTrigger, name = 'r'): AlertRule => ({ name, to: ['ops'], ...trigger });

export const budget = (share: number, more: Partial<BudgetWindowReading> = {}): BudgetWindowReading => ({
  ...{
    name: 'month',
    subject: 'search',
    called: null,
    title: `${more.name ?? 'month'}${more.subject === '' ? '' : ` of ${more.called ?? more.subject ?? 'search'}`}`,
    limit: 1_000_000,
    spent: share * 1_000_000,
    starts: START,
    ends: END,
  },
  forecast: null,
  refused: null,
  usdPerCredit: null,
  ...more,
});

export const key = (expiresAt: number, more: Partial<ExpiringKey> = {}): ExpiringKey => ({
  ...{ id: 'k1', name: 'ci', createdAt: START, expiresAt },
  ...more,
});

export const provider = (more: Partial<ProviderReading> = {}): ProviderReading => ({
  ...{ name: 'openai', isUp: false, isUnpaid: false, downSince: null, shut: 0, endpoints: 2 },
  ...more,
});

/** The share of a key whose 50 prompts have a million tokens. */
export const keyShare = (share: number, id = 'k1', more: Partial<SubjectShare> = {}): SubjectShare => ({
  ...{ id, title: `key ci (${id})`, details: { key_id: id, name: 'ci' } },
  ...{ input: 1_000_000, cached: share * 1_000_000, prompts: 50 },
  ...more,
});

/** @param failures at how many requests in a row the guard has failed since `since`; 0 for a guard that works */
export const guard = (failures: number, since = START, name = 'pii'): GuardReading => ({
  name,
  failing: failures === 0 ? null : { failures, since, error: 'connection refused', requestId: 'req_1' },
});

export const providerKey = (more: Partial<ProviderKeyReading> = {}): ProviderKeyReading => ({
  ...{ provider: 'openai', key: 'OPENAI_API_KEY_2', state: 'refused', refused: 3, endpoints: 3 },
  ...more,
});

/** @param factor what the provider states, as a multiple of our cost */
export const statedReading = (factor: number, more: Partial<StatedReading> = {}): StatedReading => {
  const [stated, matched] = [Math.round(1_000_000 * factor), 1_000_000];
  const sums = { stated, matched, statedUsd: `${stated / 1e9}`, matchedUsd: '0.001' };
  return { model: 'best', provider: 'router', attempts: STATED_MIN, ...sums, ...more };
};

/** The values of `AlertReadings`, without its functions. */
export interface Figures
  extends Partial<Pick<AlertReadings, 'providers' | 'providerKeys' | 'guards' | 'refusal' | 'split'>> {
  readonly budgets?: readonly BudgetWindowReading[];
  readonly keys?: readonly ExpiringKey[];
  readonly cached?: readonly [input: number, cached: number];
  readonly shares?: readonly SubjectShare[];
  readonly stated?: readonly StatedReading[];
  /** The share of 100 requests that ended with an error. */
  readonly errors?: number;
  readonly mostFrequent?: AnswersReading['mostFrequent'];
  /** The time within which 9 of 10 answers began, ms. */
  readonly slowMs?: number;
  readonly slowest?: AnswersReading['slowest'];
}

export const readings = ({
  budgets = [],
  keys = [],
  cached = [0, 0],
  shares = [],
  stated = [],
  errors = 0,
  mostFrequent = null,
  slowMs = 0,
  slowest = null,
  ...more
}: Figures): AlertReadings => ({
  budgets: () => budgets,
  keys: () => keys,
  tokensWithin: () => ({ input: cached[0], cached: cached[1], prompts: 1 }),
  sharesWithin: () => shares,
  statedWithin: () => stated,
  answersWithin: () => ({ requests: 100, errors: 100 * errors, mostFrequent, answers: 100, slowMs, slowest }),
  providers: [],
  providerKeys: [],
  guards: [],
  refusal: null,
  split: null,
  ...more,
});

export type Judge = typeof dueAlerts;

/** Keeps the marks of alerts, as the store does. */
export class House {
  readonly marks = new Map<string, AlertMark>();
  readonly #rules: readonly AlertRule[];
  readonly #judge: Judge;

  constructor(rules: readonly AlertRule[], judge: Judge = dueAlerts) {
    this.#rules = rules;
    this.#judge = judge;
  }

  /** Checks the rules, and keeps the marks. */
  look(figures: Figures, now: number, memory: Partial<AlertMemory> = {}): AlertJudgement {
    const found = this.#judge(this.#rules, readings(figures), {
      ...{ marks: this.marks, mayClose: () => true, owner: OWNER, now },
      ...memory,
    });
    const changes = found.alerts.flatMap(({ findings }) => findings.map(({ change }) => change));
    for (const { mark } of [...changes, ...found.stale]) this.marks.set(mark.id, mark);
    return found;
  }

  /** Returns the lines that a check reports, each with the type of its message. */
  lines(figures: Figures, now: number, memory: Partial<AlertMemory> = {}): string[] {
    const { alerts } = this.look(figures, now, memory);
    return alerts.flatMap(({ type, findings }) => findings.map(({ line }) => `${type}: ${line}`));
  }
}
