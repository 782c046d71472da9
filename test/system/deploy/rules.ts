import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { judge, type Metric, type Metrics } from '../../support/promql.ts';

const ROOT = join(import.meta.dir, '../../..');
export const ALERTS_FILE = join(ROOT, 'deploy/alerts.yaml');
/** The page that says what to do about each alarm. */
export const RUNBOOK = 'docs/operate/incidents.md';
export const RUNBOOK_FILE = join(ROOT, RUNBOOK);

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

/** Our own file, of the form that the tests state. */
export const readRules = (): RulesFile => parse(readFileSync(ALERTS_FILE, 'utf8')) as RulesFile;

export const rulesOf = ({ groups }: RulesFile): readonly Rule[] => groups.flatMap(({ rules }) => rules);

/** What is exported, with what the rules record: each has the labels that its own query leaves. */
export function withRecorded(rules: readonly Rule[], metrics: Metrics): Metrics {
  const all = new Map<string, Metric>(metrics);
  for (const { record, expr, labels = {} } of rules) {
    if (record === undefined) continue;
    all.set(record, { type: 'gauge', labels: [...judge(expr, all).labels, ...Object.keys(labels)] });
  }
  return all;
}

const TEMPLATE_LABEL = /\{\{[^}]*\$labels\.(\w+)[^}]*\}\}/g;

/** All that is wrong with the rules, with the name of the rule. */
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

/** Names of the alarms that the runbook has a heading for. */
export const headingsOf = (page: string): string[] =>
  [...page.matchAll(/^### (Signalbox\w+)$/gm)].map(([, name = '']) => name);

/** Alarms without a heading, headings without an alarm, and links that lead elsewhere. */
export function faultsOfRunbook(rules: readonly Rule[], page: string): string[] {
  const alarms = rules.flatMap((rule) => (rule.alert === undefined ? [] : [{ ...rule, alert: rule.alert }]));
  const headings = headingsOf(page);
  const names = new Set(alarms.map(({ alert }) => alert));
  return [
    ...alarms.filter(({ alert }) => !headings.includes(alert)).map(({ alert }) => `${alert}: has no heading`),
    ...headings.filter((name) => !names.has(name)).map((name) => `${name}: is a heading, and no alarm`),
    ...alarms
      .filter(({ alert, annotations }) => annotations?.runbook_url !== `${RUNBOOK}#${alert.toLowerCase()}`)
      .map(({ alert }) => `${alert}: its runbook_url leads elsewhere`),
  ];
}
