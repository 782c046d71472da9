import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Dashboard, Panel } from '@grafana/grafana-foundation-sdk/dashboard';
import { buildDashboard } from '../../../deploy/grafana/build.ts';
import { drawnPanels } from '../../../deploy/grafana/picture.ts';
import { judge } from '../../support/promql.ts';
import { KNOWN } from './exported.ts';
import { readRules, rulesOf, withRecorded } from './rules.ts';

const FILE = join(import.meta.dir, '../../../deploy/grafana/signalbox.json');
const BIOME = join(import.meta.dir, '../../../node_modules/.bin/biome');
const known = withRecorded(rulesOf(readRules()), KNOWN);

/** The dashboard as the file contains it, without values that JSON does not have. */
const built = JSON.parse(JSON.stringify(buildDashboard())) as Dashboard;
/** The builder makes only panels, no rows that contain panels. */
const panels = (built.panels ?? []) as Panel[];
const shown = panels.filter(({ type }) => type !== 'row');

interface Asked {
  readonly where: string;
  readonly expression: string;
  readonly legend: string;
}

/** Replaces variables of the dashboard with values that a query may have there. */
const plain = (expression: string): string =>
  expression.replaceAll('$__rate_interval', '5m').replaceAll('$__range', '1h');

/** Reads the query of each target that our builder wrote. */
const targetsOf = ({ title = '', targets = [] }: Panel): Asked[] =>
  targets.map((target) => {
    const { expr = '', legendFormat = '' } = target as { expr?: string; legendFormat?: string };
    return { where: title, expression: expr, legend: legendFormat };
  });

function faultsOf(asked: readonly Asked[]): string[] {
  return asked.flatMap(({ where, expression, legend }) => {
    const { faults, labels } = judge(plain(expression), known);
    const named = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, name = '']) => name);
    return [
      ...faults.map((fault) => `${where}: ${fault}`),
      ...named.filter((name) => !labels.includes(name)).map((name) => `${where}: its legend has no label ${name}`),
    ];
  });
}

describe('The dashboard', () => {
  test('deploy/grafana/build.ts produces deploy/grafana/signalbox.json', async () => {
    if (process.env.UPDATE) {
      await Bun.write(FILE, JSON.stringify(built, null, 2));
      await Bun.spawn([BIOME, 'format', '--write', FILE], { stdout: 'ignore' }).exited;
    }
    expect(await Bun.file(FILE).json()).toEqual(built);
  });

  test('docs/pictures/dashboard.svg shows every panel (deploy/grafana/picture.ts draws it)', async () => {
    const picture = await Bun.file(join(import.meta.dir, '../../../docs/pictures/dashboard.svg')).text();
    const titles = (await drawnPanels()).map(({ title }) => title);
    expect(titles.length).toBeGreaterThan(15);
    expect(titles.filter((title) => !picture.includes(title))).toEqual([]);
  });

  test('the dashboard queries only exported metrics, with functions that fit', () => {
    expect(faultsOf(shown.flatMap(targetsOf))).toEqual([]);
  });

  test('variables and annotations of the dashboard query only exported metrics', () => {
    const queries = (built.templating?.list ?? []).flatMap(({ name, query }) => {
      const found = /^label_values\((.*), (\w+)\)$/.exec(typeof query === 'string' ? query : '');
      return found ? [{ where: name, expression: `count by (${found[2]}) (${found[1]})`, legend: '' }] : [];
    });
    expect(queries.length).toBe(5);
    const notes = (built.annotations?.list ?? []).map(({ name, expr = '', titleFormat = '' }) => ({
      where: name,
      expression: expr,
      legend: titleFormat,
    }));
    expect(notes.length).toBe(1);
    expect(faultsOf([...queries, ...notes])).toEqual([]);
  });

  test('every query is limited to the chosen servers, and uses only known variables', () => {
    const names = ['__rate_interval', '__range', ...(built.templating?.list ?? []).map(({ name }) => name)];
    const asked = shown.flatMap(targetsOf);
    const odd = asked.filter(({ expression }) => {
      const used = [...expression.matchAll(/\$(\w+)/g)].map(([, name = '']) => name);
      return used.some((name) => !names.includes(name));
    });
    expect(odd).toEqual([]);
    const everywhere = asked.filter(({ expression }) => !expression.includes('$job') && !expression.includes('ALERTS'));
    expect(everywhere).toEqual([]);
  });

  test('each panel has a description, a unit and a legend', () => {
    const odd = shown.filter(
      ({ title, description, fieldConfig, targets }) =>
        !title || !description?.endsWith('.') || !fieldConfig?.defaults.unit || !targets?.length,
    );
    expect(odd.map(({ title }) => title)).toEqual([]);
    const titles = shown.map(({ title }) => title);
    expect(titles.filter((title, at) => titles.indexOf(title) !== at)).toEqual([]);
  });

  test('panels have unique numbers, and neither overlap nor leave the grid', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const taken = new Map<string, string>();
    const over: string[] = [];
    for (const { title = '', gridPos } of panels) {
      const { x = 0, y = 0, w = 0, h = 0 } = gridPos ?? {};
      if (x + w > 24 || w < 1 || h < 1) over.push(title);
      for (let column = x; column < x + w; column++) {
        for (let line = y; line < y + h; line++) {
          const other = taken.get(`${column} ${line}`);
          if (other !== undefined) over.push(`${title} over ${other}`);
          taken.set(`${column} ${line}`, title);
        }
      }
    }
    expect(over).toEqual([]);
  });

  test('the dashboard has the rows that operators look for', () => {
    expect(panels.filter(({ type }) => type === 'row').map(({ title }) => title)).toEqual([
      'Overview',
      'Routing',
      'Scores',
      'Providers',
      'Money',
      'Payments',
      'Gateway',
      'Policy',
    ]);
  });
});

describe('The check of the dashboard', () => {
  const faults = (expression: string, legend = '') => faultsOf([{ where: 'here', expression, legend }]).join();

  test('the check finds a misspelled metric and label', () => {
    expect(faults('sum(signalbox_chat_open{job=~"$job"})')).toContain('is exported by nobody');
    expect(faults('sum by (code) (rate(signalbox_http_requests_total[$__rate_interval]))')).toContain('no label code');
    expect(faults('sum by (route) (rate(signalbox_http_requests_total[$__rate_interval]))', '{{path}}')).toContain(
      'its legend has no label path',
    );
  });

  test('the check finds a rate of a gauge, and a quantile without buckets', () => {
    expect(faults('rate(signalbox_chats_open[$__rate_interval])')).toContain('rate of a gauge');
    expect(
      faults('histogram_quantile(0.9, sum by (route) (rate(signalbox_http_request_duration_seconds_bucket[5m])))'),
    ).toContain('a quantile is of rates of _bucket');
  });
});
