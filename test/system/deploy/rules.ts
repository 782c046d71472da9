import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { judge, type Metric, type Metrics } from '../../support/promql.ts';

const ROOT = join(import.meta.dir, '../../..');
export const ALERTS_FILE = join(ROOT, 'deploy/alerts.yaml');
/** The pages that say what to do about each alert. */
export const RUNBOOKS = ['incidents', 'incidents-money', 'incidents-server'].map((name) => `docs/operate/${name}.md`);

/** @returns the text of each runbook, by its path in the repository */
export const readRunbooks = (): Runbooks =>
  Object.fromEntries(RUNBOOKS.map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]));

export type Runbooks = Readonly<Record<string, string>>;

export interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface RulesFile {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
}

/** Our own file; the tests check its form. */
export const readRules = (): RulesFile => parse(readFileSync(ALERTS_FILE, 'utf8')) as RulesFile;

export const rulesOf = ({ groups }: RulesFile): readonly Rule[] => groups.flatMap(({ rules }) => rules);

/** Adds the recorded series of the rules to the exported metrics. Each has the labels that its own query leaves. */
export function withRecorded(rules: readonly Rule[], metrics: Metrics): Metrics {
  const all = new Map<string, Metric>(metrics);
  for (const { record, expr, labels = {} } of rules) {
    if (record === undefined) continue;
    all.set(record, { type: 'gauge', labels: [...judge(expr, all).labels, ...Object.keys(labels)] });
  }
  return all;
}

const TEMPLATE_LABEL = /\{\{[^}]*\$labels\.(\w+)[^}]*\}\}/g;

/** Returns all mistakes in the rules, with the name of the rule. */
export function faultsOfRules(rules: readonly Rule[], metrics: Metrics): string[] {
  const all = withRecorded(rules, metrics);
  return rules.flatMap(({ record, alert, expr, labels = {}, annotations = {} }) => {
    const name = record ?? alert ?? expr;
    const { faults, labels: left } = judge(expr, all);
    const known = new Set([...left, ...Object.keys(labels)]);
    const unknown = Object.values(annotations).flatMap((text) =>
      [...text.matchAll(TEMPLATE_LABEL)].map(([, label = '']) => label).filter((label) => !known.has(label)),
    );
    return [
      ...faults.map((fault) => `${name}: ${fault}`),
      ...unknown.map((label) => `${name}: says $labels.${label}, which its query does not leave`),
    ];
  });
}

/** Returns the names of the alerts that have a heading in the runbook. */
export const headingsOf = (page: string): string[] =>
  [...page.matchAll(/^### (Signalbox\w+)$/gm)].map(([, name = '']) => name);

/** Returns alerts without a heading, headings without an alert, and links to a page without the heading. */
export function faultsOfRunbooks(rules: readonly Rule[], runbooks: Runbooks): string[] {
  const alarms = rules.flatMap((rule) => (rule.alert === undefined ? [] : [{ ...rule, alert: rule.alert }]));
  const found = Object.entries(runbooks).flatMap(([path, page]) => headingsOf(page).map((name) => ({ name, path })));
  const headings = found.map(({ name }) => name);
  const names = new Set(alarms.map(({ alert }) => alert));
  return [
    ...alarms.filter(({ alert }) => !headings.includes(alert)).map(({ alert }) => `${alert}: has no heading`),
    ...headings.filter((name) => !names.has(name)).map((name) => `${name}: is a heading, and no alarm`),
    ...alarms
      .filter(
        ({ alert, annotations }) =>
          !found.some(
            ({ name, path }) => name === alert && annotations?.runbook_url === `${path}#${alert.toLowerCase()}`,
          ),
      )
      .map(({ alert }) => `${alert}: its runbook_url leads elsewhere`),
  ];
}
