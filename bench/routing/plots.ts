import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as echarts from 'echarts';
import { hullOf } from './hull.ts';
import type { Entry } from './measure.ts';
import type { PoolReport } from './report.ts';

const SIZE = { width: 900, height: 520 };
/** Colours that can be distinguished with most kinds of colour blindness (Okabe and Ito). */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#000000', '#999999'];

/** Bins with fewer predictions are not drawn. */
const BIN_MIN = 100;

type XY = readonly [number, number];

interface Line {
  readonly name: string;
  readonly points: readonly XY[];
  readonly dashed?: boolean;
  /** Whether the points are drawn without a line. */
  readonly scattered?: boolean;
}

interface Axes {
  readonly title: string;
  readonly x: string;
  readonly y: string;
}

/** Writes the figures of a run into a folder. */
export function writePlots(reports: readonly PoolReport[], folder: string): string[] {
  const written: string[] = [];
  const write = (name: string, axes: Axes, lines: readonly Line[]) => {
    writeFileSync(
      join(folder, name),
      `${svgOf(
        axes,
        lines.filter(({ points }) => points.length > 0),
      )}\n`,
    );
    written.push(name);
  };
  for (const report of reports) {
    const { pool } = report;
    write(
      `curve-${pool}.svg`,
      { title: `${pool}: quality by cost (first split)`, x: 'mean cost, USD per 1,000 requests', y: 'mean score' },
      costLines(report),
    );
    write(
      `reliability-${pool}.svg`,
      { title: `${pool}: what was predicted and what came of it`, x: 'predicted', y: 'observed' },
      reliabilityLines(report),
    );
  }
  return written;
}

const most = (entries: readonly Entry[], router: string): Entry | undefined =>
  entries.filter((entry) => entry.router === router).at(-1);

/** Returns the routers whose curves are drawn; of the simple routers, only the routers with all outcomes. */
function drawn({ entries }: PoolReport): { name: string; entry: Entry }[] {
  const named: [string, Entry | undefined][] = [
    ['length', most(entries, 'length')],
    ['n-grams', most(entries, 'n-grams')],
    ['Signalbox, all known', most(entries, 'Signalbox, all known')],
    ['Signalbox, tasks declared', most(entries, 'Signalbox, tasks declared')],
  ];
  return named.flatMap(([name, entry]) => {
    if (!entry) return [];
    return [{ name: entry.outcomes ? `${name}, K ${entry.outcomes}` : name, entry }];
  });
}

function costLines(report: PoolReport): Line[] {
  const perThousand = ([cost, quality]: XY): XY => [cost * 1_000, quality];
  const dearest = Math.max(...report.singles.map(([cost]) => cost));
  // A higher budget never changes the quality.
  const flat = (hull: readonly XY[]): XY[] => [...hull, [dearest, hull.at(-1)?.[1] ?? 0]];
  return [
    { name: 'single models', points: report.singles.map(perThousand), scattered: true },
    { name: 'their hull', points: hullOf(report.singles).map(perThousand), dashed: true },
    ...drawn(report).map(({ name, entry }) => ({ name, points: flat(entry.hull).map(perThousand) })),
  ];
}

function reliabilityLines(report: PoolReport): Line[] {
  const ideal: XY[] = [
    [0, 0],
    [1, 1],
  ];
  return [
    { name: 'ideal', points: ideal, dashed: true },
    ...drawn(report).map(({ name, entry }) => ({
      name,
      points: (entry.bins ?? [])
        .filter(({ count }) => count >= BIN_MIN)
        .map(({ predicted, observed }): XY => [predicted, observed]),
    })),
  ];
}

function svgOf({ title, x, y }: Axes, lines: readonly Line[]): string {
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, ...SIZE });
  const axis = (name: string) => ({ name, nameLocation: 'middle' as const, scale: true });
  chart.setOption({
    animation: false,
    backgroundColor: '#ffffff',
    color: COLOURS,
    title: { text: title, left: 64, textStyle: { fontSize: 15 } },
    legend: { orient: 'vertical', left: 612, top: 48, textStyle: { fontSize: 11 } },
    grid: { left: 70, right: 300, top: 48, bottom: 56 },
    xAxis: { ...axis(x), type: 'value', nameGap: 32, splitLine: { show: false } },
    yAxis: { ...axis(y), type: 'value', nameGap: 48 },
    series: lines.map(({ name, points, dashed = false, scattered = false }) => {
      const data = points.map(([a, b]) => [Number(a.toPrecision(6)), Number(b.toPrecision(6))]);
      return scattered
        ? { name, type: 'scatter', symbolSize: 9, data }
        : {
            name,
            type: 'line',
            showSymbol: !dashed,
            symbolSize: 5,
            lineStyle: { type: dashed ? 'dashed' : 'solid' },
            data,
          };
    }),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}
