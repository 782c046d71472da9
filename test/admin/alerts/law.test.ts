import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { dueAlerts, FLAP_MS } from '../../../src/admin/alerts/rules.ts';
import type { AlertRule } from '../../../src/core/policy/alerts.ts';
import { effort } from '../../deep/effort.ts';
import {
  budget,
  DAY_MS,
  END,
  type Figures,
  guard,
  House,
  type Judge,
  key,
  keyShare,
  provider,
  providerKey,
  rule,
  START,
  statedReading,
} from './support.ts';

const { runs, seed, proved } = effort('alerts', 200, 5_000);

const RULES: readonly AlertRule[] = [
  rule({ on: 'budget_share', at: [0.5, 0.8, 1], budgets: [] }, 'shares'),
  rule({ on: 'budget_forecast', budgets: [] }, 'forecast'),
  rule({ on: 'key_expiry', days: [14, 3, 1] }, 'keys'),
  rule({ on: 'provider_down', afterMs: 60_000 }, 'down'),
  rule({ on: 'policy_refused' }, 'policy'),
  rule({ on: 'policy_split', afterMs: 60_000 }, 'split'),
  rule({ on: 'cached_share', below: 0.4, windowMs: 3_600_000, each: null }, 'cached'),
  rule({ on: 'cached_share', below: 0.4, windowMs: 3_600_000, each: 'key' }, 'cached-keys'),
  rule({ on: 'guard_failing', afterMs: 60_000 }, 'guards'),
  rule({ on: 'key_refused' }, 'refused'),
  rule({ on: 'error_rate', above: 0.3, windowMs: 300_000 }, 'errors'),
  rule({ on: 'slow_answers', aboveMs: 3_000, windowMs: 300_000 }, 'slow'),
  rule({ on: 'stated_cost_differs', above: 0.05, windowMs: 300_000 }, 'stated'),
];

const share = fc.integer({ min: 0, max: 12 }).map((tenths) => tenths / 10);
const windows = fc.constantFrom({ starts: START, ends: END }, { starts: END, ends: END + 31 * DAY_MS });
const figures: fc.Arbitrary<Figures> = fc.record({
  budgets: fc
    .uniqueArray(
      fc.record({
        subject: fc.constantFrom('a', 'b'),
        spent: share,
        limit: share,
        forecast: fc.option(share),
        window: windows,
      }),
      { selector: ({ subject }) => subject, maxLength: 2 },
    )
    .map((list) =>
      list.map(({ spent, limit, window, ...one }) => budget(spent, { ...one, limit: limit * 1_000_000, ...window })),
    ),
  keys: fc.array(fc.constantFrom(key(END), key(END + DAY_MS, { id: 'k2' })), { maxLength: 1 }),
  providers: fc.array(
    fc.record({ isUp: fc.boolean(), ago: fc.option(fc.integer({ min: 0, max: 2 })) }).map(({ isUp, ago }) => {
      return provider({ isUp, downSince: ago === null ? null : START - ago * 60_000 });
    }),
    { maxLength: 1 },
  ),
  refusal: fc.option(fc.constant({ message: 'no', first: null, time: START })),
  split: fc.option(fc.constantFrom(0, 2).map((ago) => ({ since: START - ago * 60_000, instances: [] }))),
  cached: share.map((one) => [1_000_000, one * 1_000_000] as const),
  guards: fc.array(
    fc
      .tuple(fc.constantFrom(0, 1, 3), fc.integer({ min: 0, max: 2 }))
      .map(([failures, ago]) => guard(failures, START - ago * 60_000)),
    { maxLength: 1 },
  ),
  providerKeys: fc.array(
    fc.constantFrom('refused', 'accepted', 'unknown').map((state) => providerKey({ state } as const)),
    { maxLength: 1 },
  ),
  errors: share.map((one) => Math.min(1, one)),
  slowMs: fc.constantFrom(1_000, 2_800, 4_000),
  stated: fc.array(
    share.map((one) => statedReading(1 + one / 10)),
    { maxLength: 1 },
  ),
  shares: fc.uniqueArray(
    fc.tuple(share, fc.constantFrom('k1', 'k2')).map(([one, id]) => keyShare(one, id)),
    { selector: ({ id }) => id, maxLength: 2 },
  ),
});

const looks = fc.array(fc.tuple(fc.constantFrom(1_000, 15_000, 100_000, 400_000, DAY_MS, 9 * DAY_MS), figures), {
  maxLength: 30,
});

/** Identifies what an alert reports: the rule, the subject and, if there are any, the window and the threshold. */
function aboutOf(subject: Readonly<Record<string, unknown>>): string {
  const { budget: name, subject: of, window_starts, at, key_id, expires_at, days, provider: one, guard: by } = subject;
  return JSON.stringify([name, of, window_starts, at, key_id, expires_at, days, one, by]);
}

/** Rules about problems that begin and end. */
const LASTING: ReadonlySet<string> = new Set([
  ...['provider_down', 'policy_refused', 'policy_split', 'cached_share', 'guard_failing', 'key_refused'],
  ...['error_rate', 'slow_answers', 'stated_cost_differs'],
]);

/** The subject of a mark that is closed without a message, in the form of the subject of an alert. */
function staleSubject(id: string): readonly [rule: string, subject: Readonly<Record<string, unknown>>] {
  const [name = '', on, first, second]: string[] = JSON.parse(id);
  if (on === 'provider_down') return [name, { provider: first }];
  if (on === 'stated_cost_differs') return [name, { provider: second }];
  if (on === 'key_refused') return [name, { provider: second }];
  return [name, on === 'guard_failing' ? { guard: second } : { key_id: second ? JSON.parse(id)[4] : undefined }];
}

/**
 * Checks that no rule reports a subject twice in its window. A lasting problem must not be reported again while it lasts, nor before the
 * time of a flap has passed since its end.
 */
function isCalm(steps: readonly (readonly [number, Figures])[], judge: Judge): boolean {
  const house = new House(RULES, judge);
  const told = new Map<string, { at: number; isOpen: boolean }>();
  let now = START;
  for (const [ms, seen] of steps) {
    now += ms;
    const { alerts, stale } = house.look(seen, now);
    // If a provider or key is gone, its alert is closed without a message.
    for (const { mark } of stale) {
      const [name, subject] = staleSubject(mark.id);
      const one = told.get(`${name} ${aboutOf(subject)}`);
      if (one) Object.assign(one, { at: now, isOpen: false });
    }
    for (const { rule: by, type, findings } of alerts) {
      for (const { subject } of findings) {
        const about = `${by.name} ${aboutOf(subject)}`;
        const before = told.get(about);
        if (type === 'recovery') {
          if (!before?.isOpen) return false;
          Object.assign(before, { at: now, isOpen: false });
          continue;
        }
        const lasts = LASTING.has(by.on);
        const mayRepeat = lasts && before && !before.isOpen && now - before.at >= FLAP_MS;
        if (before && !mayRepeat) return false;
        told.set(about, { at: now, isOpen: lasts });
      }
    }
  }
  return true;
}

/** The numbers in alerts about cached shares do not identify what the alert reports. */
const lawOf = (judge: Judge) => fc.property(looks, (steps) => isCalm(steps, judge));

test('alert rules send one alert for each rule, subject and window, whatever the sequence of measurements', () => {
  fc.assert(lawOf(dueAlerts), { numRuns: runs, seed });
  proved('no rule reports a subject twice in its window, whatever the measurements');
});

const MUTANTS: Readonly<Record<string, Judge>> = {
  'forgets what was already reported': (rules, readings, memory) =>
    dueAlerts(rules, readings, { ...memory, marks: new Map() }),
  'uses the time of its check as the time of the event': (rules, readings, memory) => {
    const { alerts, stale } = dueAlerts(rules, readings, memory);
    const renamed = alerts.map((alert) => ({
      ...alert,
      findings: alert.findings.map((found) => {
        const { change } = found;
        return { ...found, change: { ...change, mark: { ...change.mark, id: `${change.mark.id} ${memory.now}` } } };
      }),
    }));
    return { alerts: renamed, stale };
  },
  'starts the time of a flap at the beginning of the problem': (rules, readings, memory) => {
    const marks = new Map(
      [...memory.marks].map(([id, mark]) => [
        id,
        mark.state === 'closed' ? { ...mark, until: mark.since + FLAP_MS } : mark,
      ]),
    );
    return dueAlerts(rules, readings, { ...memory, marks });
  },
};

for (const [name, judge] of Object.entries(MUTANTS)) {
  test(`the law of alerts detects a rule checker that ${name}`, () => {
    expect(fc.check(lawOf(judge), { numRuns: 2_000, seed }).failed).toBe(true);
  });
}

/** Checks that a provider which was well for the time of a flap, or was never reported, is reported at the first check that finds it down. */
function isPrompt(steps: readonly (readonly [number, boolean])[], judge: Judge): boolean {
  const house = new House([rule({ on: 'provider_down', afterMs: 0 })], judge);
  let [now, isOpen, over] = [START, false, Number.NEGATIVE_INFINITY];
  for (const [ms, isDown] of steps) {
    now += ms;
    const { alerts } = house.look({ providers: [provider({ isUp: !isDown, downSince: isDown ? now : null })] }, now);
    if (isDown && !isOpen && now - over >= FLAP_MS && alerts.length === 0) return false;
    for (const { type } of alerts) {
      isOpen = type === 'alert';
      if (!isOpen) over = now;
    }
  }
  return true;
}

const promptLaw = (judge: Judge) =>
  fc.property(
    fc.array(fc.tuple(fc.constantFrom(1_000, 60_000, FLAP_MS, 600_000), fc.boolean()), { maxLength: 30 }),
    (steps) => isPrompt(steps, judge),
  );

test('a provider that fails again is reported at once, except for two minutes after its recovery', () => {
  fc.assert(promptLaw(dueAlerts), { numRuns: runs, seed });
  proved('a provider that fails again is reported at once, except for two minutes after its recovery');
});

test('the law of prompt alerts detects a rule checker that waits for a quarter of an hour after each message', () => {
  const slow: Judge = (rules, readings, memory) => {
    const marks = new Map(
      [...memory.marks].map(([id, mark]) => [
        id,
        mark.state === 'closed' ? { ...mark, until: mark.since + 900_000 } : mark,
      ]),
    );
    return dueAlerts(rules, readings, { ...memory, marks });
  };
  expect(fc.check(promptLaw(slow), { numRuns: 2_000, seed }).failed).toBe(true);
});
