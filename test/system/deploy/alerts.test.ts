import { describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { judge } from '../../support/promql.ts';
import { KNOWN } from './exported.ts';
import {
  faultsOfRules,
  faultsOfRunbooks,
  RUNBOOKS,
  type Rule,
  readRules,
  readRunbooks,
  rulesOf,
  withRecorded,
} from './rules.ts';

const rules = rulesOf(readRules());
const alarms = rules.filter(({ alert }) => alert !== undefined);
const runbooks = readRunbooks();
const page = Object.values(runbooks).join('\n');

describe('The alerts of deploy/alerts.yaml', () => {
  test('query only exported metrics, with functions that fit', () => {
    expect(faultsOfRules(rules, KNOWN)).toEqual([]);
  });

  test('have one heading each in the runbooks, which have no other headings', () => {
    expect(faultsOfRunbooks(rules, runbooks)).toEqual([]);
  });

  test('state their severity, their duration and a description', () => {
    const odd = alarms.filter(
      ({ for: lasts, labels, annotations }) =>
        !/^\d+[mh]$/.test(lasts ?? '') ||
        !['page', 'ticket'].includes(labels?.severity ?? '') ||
        !annotations?.summary?.endsWith('.') ||
        !annotations.description?.endsWith('.'),
    );
    expect(odd).toEqual([]);
  });

  test('have unique names', () => {
    const names = rules.map(({ record, alert }) => record ?? alert);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });

  test('record only series that a rule, the dashboard or the runbook uses', () => {
    const dashboard = readFileSync(join(import.meta.dir, '../../../deploy/grafana/signalbox.json'), 'utf8');
    const idle = rules.filter(
      ({ record }) =>
        record !== undefined &&
        !rules.some(({ expr }) => expr.includes(record)) &&
        !dashboard.includes(record) &&
        !page.includes(record),
    );
    expect(idle.map(({ record }) => record)).toEqual([]);
  });

  test('each have a promtool test with a case that fires and one that does not', () => {
    const file = join(import.meta.dir, '../../../deploy/alerts.test.yaml');
    const { tests } = parse(readFileSync(file, 'utf8')) as {
      tests: { alert_rule_test: { alertname: string; exp_alerts?: unknown[] }[] }[];
    };
    const cases = tests.flatMap(({ alert_rule_test }) => alert_rule_test);
    const untested = alarms.filter(({ alert }) => {
      const own = cases.filter(({ alertname }) => alertname === alert);
      return (
        !own.some(({ exp_alerts = [] }) => exp_alerts.length > 0) || own.every(({ exp_alerts }) => exp_alerts?.length)
      );
    });
    expect(untested.map(({ alert }) => alert)).toEqual([]);
  });
});

describe('Queries in the docs', () => {
  const others = ['observe.md', 'metrics.md'].map((name) =>
    readFileSync(join(import.meta.dir, '../../../docs/operate', name), 'utf8'),
  );

  test('use only exported metrics', () => {
    const known = withRecorded(rules, KNOWN);
    const queries = [...[page, ...others].join('\n').matchAll(/```promql\n([\s\S]*?)```/g)].flatMap(([, block = '']) =>
      block
        .replaceAll(/^#.*\n/gm, '')
        .trim()
        .split(/\n\n/),
    );
    expect(queries.length).toBeGreaterThan(10);
    expect(queries.flatMap((query) => judge(query, known).faults)).toEqual([]);
  });

  test('come with links to pages that exist', () => {
    const links = [...page.matchAll(/\]\(([\w./-]+\.md)(?:#[\w-]+)?\)/g)].map(([, path = '']) => path);
    const missing = links.filter((path) => !existsSync(join(import.meta.dir, '../../../docs/operate', path)));
    expect(missing).toEqual([]);
  });
});

describe('The check of alerts', () => {
  const changed = (name: string, change: (rule: Rule) => Rule): readonly Rule[] =>
    rules.map((rule) => (rule.alert === name ? change(rule) : rule));
  const asked = (name: string, from: string, to: string): readonly Rule[] =>
    changed(name, (rule) => {
      expect(rule.expr).toContain(from);
      return { ...rule, expr: rule.expr.replace(from, to) };
    });

  test('finds a misspelled metric', () => {
    const faults = faultsOfRules(asked('SignalboxStoreFailing', 'store_failing', 'store_fails'), KNOWN);
    expect(faults.join()).toContain('SignalboxStoreFailing: at “signalbox_store_fails');
  });

  test('finds a misspelled recorded series', () => {
    const faults = faultsOfRules(asked('SignalboxFirstTokenSlow', 'burn_rate1h', 'burn_rate1hour'), KNOWN);
    expect(faults.join()).toContain('is exported by nobody');
  });

  test('finds a misspelled label, in matchers and in sums', () => {
    expect(faultsOfRules(asked('SignalboxEndpointMisconfigured', 'state=', 'status='), KNOWN).join()).toContain(
      'has no label status',
    );
    expect(faultsOfRules(asked('SignalboxRetriesDenied', '(job, provider)', '(job, service)'), KNOWN).join()).toContain(
      'no label service',
    );
  });

  test('finds a label value that is never exported', () => {
    expect(faultsOfRules(asked('SignalboxKeysRefused', 'invalid_api_key', 'bad_key'), KNOWN).join()).toContain(
      'no such value: bad_key',
    );
  });

  test('finds rates of gauges, and raw counters used as figures', () => {
    const rated = asked(
      'SignalboxBudgetExhausted',
      'signalbox_budget_subjects_exhausted',
      'rate(signalbox_balances[5m])',
    );
    expect(faultsOfRules(rated, KNOWN).join()).toContain('rate of a gauge');
    const bare = asked(
      'SignalboxEndpointUnsteady',
      'increase(signalbox_ejections_total[30m])',
      'signalbox_ejections_total',
    );
    expect(faultsOfRules(bare, KNOWN).join()).toContain('tells nothing without rate');
  });

  test('finds a label in a description that the query has summed away', () => {
    const lost = changed('SignalboxRetriesDenied', (rule) => ({
      ...rule,
      annotations: { ...rule.annotations, description: '{{ $labels.upstream }} fails.' },
    }));
    expect(faultsOfRules(lost, KNOWN)).toEqual([
      'SignalboxRetriesDenied: says $labels.upstream, which its query does not leave',
    ]);
  });

  test('finds an alert without a heading, a heading without an alert, and a wrong link', () => {
    const without = Object.entries(runbooks).map(([path, text]) => [
      path,
      text.replace('### SignalboxStoreSlow', '### SignalboxStoreFast'),
    ]);
    expect(faultsOfRunbooks(rules, Object.fromEntries(without))).toEqual([
      'SignalboxStoreSlow: has no heading',
      'SignalboxStoreFast: is a heading, and no alarm',
      'SignalboxStoreSlow: its runbook_url leads elsewhere',
    ]);
    const lost = changed('SignalboxStoreSlow', (rule) => ({
      ...rule,
      annotations: { runbook_url: RUNBOOKS[0] ?? '' },
    }));
    expect(faultsOfRunbooks(lost, runbooks)).toEqual(['SignalboxStoreSlow: its runbook_url leads elsewhere']);
  });
});
