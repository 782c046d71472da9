import { join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';

/**
 * Draws the first rows of the dashboard from a Prometheus: `bun deploy/grafana/picture.ts http://127.0.0.1:9090 [minutes]` writes
 * `docs/pictures/dashboard.svg`. The queries, titles and units are the dashboard's own.
 */
const HERE = import.meta.dir;
const FILE = join(HERE, '../../docs/pictures/dashboard.svg');
const WIDTH = 1200;
const COLUMN = WIDTH / 24;
const ROW = 30;
/** Grid rows that are drawn: the overview, and how requests are routed. */
const ROWS = 38;
const COLOURS = ['#73bf69', '#f2cc0c', '#5794f2', '#ff9830', '#b877d9', '#f2495c', '#8ab8ff', '#96d98d'];
const [PAPER, PANEL, INK, DIM, LINE] = ['#111217', '#181b1f', '#ccccdc', '#8e8e9c', '#2c3235'];

const Panel = Type.Object({
  type: Type.String(),
  title: Type.String(),
  gridPos: Type.Object({ x: Type.Number(), y: Type.Number(), w: Type.Number(), h: Type.Number() }),
  targets: Type.Optional(Type.Array(Type.Object({ expr: Type.String(), legendFormat: Type.Optional(Type.String()) }))),
  fieldConfig: Type.Optional(Type.Object({ defaults: Type.Object({ unit: Type.Optional(Type.String()) }) })),
});
type Panel = Static<typeof Panel>;

const Answer = Type.Object({
  data: Type.Object({
    result: Type.Array(
      Type.Object({
        metric: Type.Record(Type.String(), Type.String()),
        values: Type.Array(Type.Tuple([Type.Number(), Type.String()])),
      }),
    ),
  }),
});

interface Series {
  readonly name: string;
  readonly points: readonly (readonly [time: number, value: number])[];
}

/** The panels that are drawn. */
export async function drawnPanels(): Promise<readonly Panel[]> {
  const board: unknown = await Bun.file(join(HERE, 'signalbox.json')).json();
  const { panels } = Value.Parse(Type.Object({ panels: Type.Array(Panel) }), board);
  return panels.filter(({ gridPos }) => gridPos.y + gridPos.h <= ROWS);
}

const escaped = (words: string): string =>
  words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const text = (x: number, y: number, words: string, more = ''): string =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${more}>${escaped(words)}</text>`;

function withUnit(value: number, unit = 'short'): string {
  const figure = (digits = 3) => Number(value.toPrecision(digits)).toLocaleString('en-US');
  if (unit === 'percentunit') return `${(value * 100).toFixed(1)} %`;
  if (unit === 's') return value < 1 ? `${Math.round(value * 1_000)} ms` : `${figure()} s`;
  if (unit === 'reqps') return `${figure()} req/s`;
  return unit.startsWith('suffix:') ? `${figure()}${unit.slice('suffix:'.length)}` : figure();
}

async function seriesOf({ targets = [] }: Panel, prometheus: string, from: number, to: number): Promise<Series[]> {
  const found = await Promise.all(
    targets.map(async ({ expr, legendFormat = '' }) => {
      const query = expr
        .replaceAll('$__rate_interval', '1m')
        .replaceAll('$__range', `${Math.round(to - from)}s`)
        .replaceAll(/=~"\$\w+"/g, '=~".*"');
      const url = new URL('/api/v1/query_range', prometheus);
      url.search = new URLSearchParams({ query, start: `${from}`, end: `${to}`, step: '10' }).toString();
      const { data } = Value.Parse(Answer, await (await fetch(url)).json());
      return data.result.map(({ metric, values }) => ({
        name: legendFormat.replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => metric[label] ?? ''),
        points: values
          .map(([time, value]) => [time, Number(value)] as const)
          .filter(([, value]) => Number.isFinite(value)),
      }));
    }),
  );
  // The largest first; a legend has room for few.
  const most = ({ points }: Series) => Math.max(...points.map(([, value]) => value));
  return found
    .flat()
    .filter(({ points }) => points.length > 0)
    .sort((a, b) => most(b) - most(a));
}

function curves(
  series: readonly Series[],
  unit: string | undefined,
  area: readonly [number, number, number, number],
): string {
  const [x, y, width, height] = area;
  const times = series.flatMap(({ points }) => points.map(([time]) => time));
  const most = Math.max(...series.flatMap(({ points }) => points.map(([, value]) => value)), 1e-9);
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const at = ([time, value]: readonly [number, number]) =>
    `${(x + ((time - from) / (to - from || 1)) * width).toFixed(1)},${(y + height - (value / most) * height).toFixed(1)}`;
  const grid = [0, 0.5, 1].map((share) => {
    const line = y + height - share * height;
    return `<line x1="${x}" x2="${x + width}" y1="${line}" y2="${line}" stroke="${LINE}"/>${text(x - 6, line + 3, withUnit(share * most, unit), `text-anchor="end" fill="${DIM}" font-size="9"`)}`;
  });
  const shown = series.slice(0, COLOURS.length);
  const lines = shown.map(
    ({ points }, i) =>
      `<polyline points="${points.map(at).join(' ')}" fill="none" stroke="${COLOURS[i]}" stroke-width="1.5"/>`,
  );
  let left = x - 40;
  const legend = shown.map(({ name }, i) => {
    const label = name.trim() === '' ? '–' : name.trim();
    const here = left;
    left += 22 + label.length * 5.6;
    if (left > x + width + 20) return '';
    return `<rect x="${here}" y="${y + height + 14}" width="10" height="3" fill="${COLOURS[i]}"/>${text(here + 14, y + height + 19, label, `fill="${DIM}" font-size="10"`)}`;
  });
  return [...grid, ...lines, ...legend].join('');
}

function bars(
  series: readonly Series[],
  unit: string | undefined,
  area: readonly [number, number, number, number],
): string {
  const [x, y, width] = area;
  const last = series.map(({ name, points }) => ({ name, value: points.at(-1)![1] })).sort((a, b) => b.value - a.value);
  const most = Math.max(...last.map(({ value }) => value), 1e-9);
  return last
    .slice(0, 6)
    .map(({ name, value }, i) => {
      const top = y + i * 26;
      return `${text(x - 40, top + 8, name, `fill="${DIM}" font-size="10"`)}<rect x="${x - 40}" y="${top + 12}" width="${((width - 40) * value) / most}" height="8" fill="${COLOURS[2]}"/>${text(x + width, top + 20, withUnit(value, unit), 'text-anchor="end" font-size="10"')}`;
    })
    .join('');
}

function drawn(panel: Panel, series: readonly Series[]): string {
  const { type, title, gridPos, fieldConfig } = panel;
  const unit = fieldConfig?.defaults.unit;
  const [x, y] = [gridPos.x * COLUMN + 4, gridPos.y * ROW + 4];
  const [width, height] = [gridPos.w * COLUMN - 8, gridPos.h * ROW - 8];
  if (type === 'row') return text(x + 4, y + 16, `⌄ ${title}`, 'font-weight="600"');
  const frame = `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="3" fill="${PANEL}" stroke="${LINE}"/>${text(x + 10, y + 18, title, 'font-size="12" font-weight="600"')}`;
  if (series.length === 0)
    return `${frame}${text(x + width / 2, y + height / 2 + 8, 'No data', `text-anchor="middle" fill="${DIM}"`)}`;
  if (type === 'stat') {
    const value = withUnit(series[0]!.points.at(-1)![1], unit);
    const size = Math.min(26, (width - 16) / (value.length * 0.62));
    return `${frame}${text(x + width / 2, y + height / 2 + 20, value, `text-anchor="middle" font-size="${size.toFixed(1)}" fill="${COLOURS[0]}"`)}`;
  }
  const draw = type === 'bargauge' ? bars : curves;
  return frame + draw(series, unit, [x + 58, y + 34, width - 72, height - 72]);
}

if (import.meta.main) {
  const [prometheus = 'http://127.0.0.1:9090', minutes = '10'] = process.argv.slice(2);
  const to = Date.now() / 1_000;
  const panels = await drawnPanels();
  const parts: string[] = [];
  for (const panel of panels)
    parts.push(drawn(panel, await seriesOf(panel, prometheus, to - Number(minutes) * 60, to)));
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${ROWS * ROW}" font-family="Inter, ui-sans-serif, system-ui, Helvetica, Arial, sans-serif" font-size="13" fill="${INK}" role="img">
<title>The Grafana dashboard: its first rows</title>
<rect width="${WIDTH}" height="${ROWS * ROW}" fill="${PAPER}"/>
${parts.join('\n')}
</svg>
`;
  await Bun.write(FILE, svg);
}
