import { expect, test } from 'bun:test';
import { Glob } from 'bun';
import { isObject } from '../../../src/core/json/object.ts';
import { ALERT_EVENTS, type AlertEvent, type AlertTrigger } from '../../../src/core/tables/alerts/index.ts';
import {
  budget,
  DAY_MS,
  END,
  type Figures,
  guard,
  House,
  key,
  provider,
  providerKey,
  rule,
  statedReading,
} from './support.ts';

const NOW = END - DAY_MS;
const SINCE = NOW - 60_000;

/**
 * A rule on each event, and figures that the rule reports. The type checker refuses an event without a row: add its row here, and the tests of
 * its limits and sentences to `rules.test.ts`.
 */
const EXAMPLES: { readonly [On in AlertEvent]: readonly [rule: AlertTrigger<On>, reported: Figures] } = {
  budget_share: [{ on: 'budget_share', at: [0.8], budgets: [] }, { budgets: [budget(0.9)] }],
  budget_forecast: [{ on: 'budget_forecast', budgets: [] }, { budgets: [budget(0.4, { forecast: 1_300_000 })] }],
  cached_share: [{ on: 'cached_share', below: 0.4, windowMs: 3_600_000, each: null }, { cached: [1_000_000, 100_000] }],
  error_rate: [{ on: 'error_rate', above: 0.1, windowMs: 300_000 }, { errors: 0.25 }],
  guard_failing: [{ on: 'guard_failing', afterMs: 60_000 }, { guards: [guard(3, SINCE)] }],
  key_expiry: [{ on: 'key_expiry', days: [3] }, { keys: [key(END)] }],
  key_refused: [{ on: 'key_refused' }, { providerKeys: [providerKey()] }],
  policy_refused: [
    { on: 'policy_refused' },
    { refusal: { message: 'The policy has 1 error.', first: null, time: NOW } },
  ],
  policy_split: [
    { on: 'policy_split', afterMs: 60_000 },
    { split: { since: SINCE, instances: ['a', 'b'].map((revision) => ({ name: revision, revision, error: null })) } },
  ],
  provider_down: [{ on: 'provider_down', afterMs: 60_000 }, { providers: [provider({ downSince: SINCE, shut: 2 })] }],
  slow_answers: [{ on: 'slow_answers', aboveMs: 5_000, windowMs: 300_000 }, { slowMs: 7_300 }],
  stated_cost_differs: [
    { on: 'stated_cost_differs', above: 0.05, windowMs: 300_000 },
    { stated: [statedReading(0.5)] },
  ],
};

test.each(Object.entries(EXAMPLES))(
  'a rule on %s reports its event, and nothing without it',
  (_, [trigger, reported]) => {
    expect(new House([rule(trigger)]).lines({}, NOW)).toEqual([]);
    expect(new House([rule(trigger)]).lines(reported, NOW)).toHaveLength(1);
  },
);

test('every definition of an event is one that rules can use', async () => {
  const folder = `${import.meta.dir}/../../../src/core/tables/alerts`;
  const files = (await Array.fromAsync(new Glob('*.ts').scan(folder))).toSorted();
  const used = new Set<unknown>(Object.values(ALERT_EVENTS));
  const missing: string[] = [];
  let found = 0;
  for (const file of files) {
    for (const [name, value] of Object.entries<unknown>(await import(`${folder}/${file}`))) {
      if (!isObject(value) || typeof value.on !== 'string' || typeof value.find !== 'function') continue;
      found++;
      if (!used.has(value)) missing.push(`Add ${name} of ${file} to DEFINITIONS of src/core/tables/alerts/index.ts.`);
    }
  }
  expect(missing).toEqual([]);
  expect(found).toBe(used.size);
});
