import { join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { escaped, inTheDark } from '../../test/docs/svg.ts';

/**
 * Draws the first rows of the dashboard from a Prometheus: `bun deploy/grafana/picture.ts http://127.0.0.1:9090 [minutes [end]]` writes
 * `docs/pictures/dashboard.svg`. `end` is in seconds since 1970; the default is now. Queries, titles, units, thresholds and stacks come
 * from the dashboard. The colours are Grafana's light or dark colours, as the reader's system chooses.
 */
const HERE = import.meta.dir;
const FILE = join(HERE, '../../docs/pictures/dashboard.svg');
const WIDTH = 920;
const COLUMN = WIDTH / 24;
const ROW = 30;
/** Number of grid rows in the picture: the overview, and the routing of requests. */
const ROWS = 38;
/** Colours of the series, largest series first. Each series has its own line in the legend, so a panel has at most this many series. */
const SERIES = ['#3d71d9', '#b8580c', '#2b7d36', '#a352cc', '#b3870b', '#c4314b'];
const [PAPER, PANEL, INK, DIM, LINE] = ['#f4f5f5', '#ffffff', '#24292e', '#5f6670', '#e0e1e3'];
/** Colours of the states, by the colour names in the dashboard. */
const STATES: Readonly<Record<string, string>> = {
  green: '#1b855e',
  orange: '#b5560c',
  red: '#d10e5c',
  blue: '#3d71d8',
};
const DARK: Readonly<Record<string, string>> = {
  [PAPER]: '#111217',
  [PANEL]: '#181b1f',
  [INK]: '#ccccdc',
  [DIM]: '#9d9fa9',
  [LINE]: '#34383e',
  [SERIES[0]!]: '#6e9fff',
  [SERIES[1]!]: '#ff9830',
  [SERIES[2]!]: '#73bf69',
  [SERIES[3]!]: '#ca95e5',
  [SERIES[4]!]: '#f2cc0c',
  [SERIES[5]!]: '#ff7383',
  [STATES.green!]: '#6ccf8e',
  [STATES.orange!]: '#ff9900',
  [STATES.red!]: '#ff5286',
  [STATES.blue!]: '#6e9fff',
};

const Panel = Type.Object({
  type: Type.String(),
  title: Type.String(),
  gridPos: Type.Object({ x: Type.Number(), y: Type.Number(), w: Type.Number(), h: Type.Number() }),
  targets: Type.Optional(Type.Array(Type.Object({ expr: Type.String(), legendFormat: Type.Optional(Type.String()) }))),
  options: Type.Optional(Type.Object({ colorMode: Type.Optional(Type.String()) })),
  fieldConfig: Type.Optional(
    Type.Object({
      defaults: Type.Object({
        unit: Type.Optional(Type.String()),
        custom: Type.Optional(
          Type.Object({ stacking: Type.Optional(Type.Object({ mode: Type.Optional(Type.String()) })) }),
        ),
        thresholds: Type.Optional(
          Type.Object({
            steps: Type.Array(Type.Object({ value: Type.Union([Type.Number(), Type.Null()]), color: Type.String() })),
          }),
        ),
      }),
    }),
  ),
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

export async function drawnPanels(): Promise<readonly Panel[]> {
  const board: unknown = await Bun.file(join(HERE, 'signalbox.json')).json();
  const { panels } = Value.Parse(Type.Object({ panels: Type.Array(Panel) }), board);
  return panels.filter(({ gridPos }) => gridPos.y + gridPos.h <= ROWS);
}

const text = (x: number, y: number, words: string, more = ''): string =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${more}>${escaped(words)}</text>`;

function withUnit(value: number, unit = 'short'): string {
  const figure = (digits = 3) => Number(value.toPrecision(digits)).toLocaleString('en-US');
  if (unit === 'percentunit') return `${(value * 100).toFixed(1)} %`;
  if (unit === 's') return value > 0 && value < 1 ? `${Math.round(value * 1_000)} ms` : `${figure()} s`;
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
        name: legendFormat.replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => metric[label] ?? '').trim() || 'none',
        points: values
          .map(([time, value]) => [time, Number(value)] as const)
          .filter(([, value]) => Number.isFinite(value)),
      }));
    }),
  );
  // Largest series first, because a legend has space for only a few.
  const most = ({ points }: Series) => Math.max(...points.map(([, value]) => value));
  const all = found.flat().filter(({ points }) => points.length > 0);
  // Leaves out series that are always zero, unless all series are.
  const some = all.filter((one) => most(one) > 0);
  return (some.length > 0 ? some : all).sort((a, b) => most(b) - most(a));
}

/** Maximum width of a character in the font of the legend. */
const LETTER = 6.9;
const SMALL = `fill="${DIM}" font-size="11"`;

type Area = readonly [x: number, y: number, width: number, height: number];

/** Places the names of series in rows below a panel. Also returns the number of rows. */
function legendOf(names: readonly string[], left: number, width: number) {
  let [x, row] = [left, 0];
  const places = names.map((name, at) => {
    const wide = 22 + name.length * LETTER;
    if (x > left && x + wide > left + width) [x, row] = [left, row + 1];
    const place = { name, x, row, colour: SERIES[at]! };
    x += wide;
    return place;
  });
  const draw = (y: number) =>
    places.map(
      (one) =>
        `<rect x="${one.x}" y="${y + one.row * 15 - 6}" width="10" height="4" rx="1" fill="${one.colour}"/>${text(one.x + 15, y + one.row * 15, one.name, SMALL)}`,
    );
  return { rows: row + 1, draw };
}

/** Adds to each series the sum of the series before it. */
function stackedUp(series: readonly Series[]): readonly Series[] {
  const times = [...new Set(series.flatMap(({ points }) => points.map(([time]) => time)))].sort((a, b) => a - b);
  const sums = new Map<number, number>();
  return series.map(({ name, points }) => {
    const values = new Map(points);
    return {
      name,
      points: times.map((time) => {
        const sum = (sums.get(time) ?? 0) + (values.get(time) ?? 0);
        sums.set(time, sum);
        return [time, sum] as const;
      }),
    };
  });
}

/** Rounds up to one digit followed by zeros, for the end of an axis. */
function roundUp(value: number): number {
  const decade = 10 ** Math.floor(Math.log10(value));
  return decade * [1, 2, 3, 4, 5, 6, 8, 10].find((one) => one * decade >= value * 0.999)!;
}

const clock = (time: number): string => new Date(time * 1_000).toISOString().slice(11, 16);

function curves(all: readonly Series[], { fieldConfig }: Panel, [left, top, width, height]: Area): string {
  const { unit, custom } = fieldConfig?.defaults ?? {};
  const isStack = custom?.stacking?.mode === 'normal';
  const chosen = all.slice(0, SERIES.length);
  const shown = isStack ? stackedUp(chosen) : chosen;
  const more = all.length - chosen.length;
  const legend = legendOf([...chosen.map(({ name }) => name)], left, width);
  const [x, y, wide, high] = [left + 66, top, width - 66, height - 30 - legend.rows * 15];
  const times = shown.flatMap(({ points }) => points.map(([time]) => time));
  const most = roundUp(Math.max(...shown.flatMap(({ points }) => points.map(([, value]) => value)), 1e-9));
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const across = (time: number) => x + ((time - from) / (to - from || 1)) * wide;
  const at = ([time, value]: readonly [number, number]) =>
    `${across(time).toFixed(1)},${(y + high - (value / most) * high).toFixed(1)}`;
  const grid = [0, 0.5, 1].map((share) => {
    const line = y + high - share * high;
    return `<line x1="${x}" x2="${x + wide}" y1="${line}" y2="${line}" stroke="${LINE}"/>${text(x - 6, line + 4, withUnit(share * most, unit), `text-anchor="end" ${SMALL}`)}`;
  });
  const hours = [
    text(x, y + high + 15, clock(from), SMALL),
    text(x + wide, y + high + 15, clock(to), `text-anchor="end" ${SMALL}`),
  ];
  const lines = shown.map(({ points }, i) => {
    const line = points.map(at).join(' ');
    const floor =
      i === 0
        ? `${across(to)},${y + high} ${across(from)},${y + high}`
        : shown[i - 1]!.points.map(at).reverse().join(' ');
    const area = isStack ? `<polygon points="${line} ${floor}" fill="${SERIES[i]}" fill-opacity="0.25"/>` : '';
    return `${area}<polyline points="${line}" fill="none" stroke="${SERIES[i]}" stroke-width="1.5"/>`;
  });
  const rest = more > 0 ? text(left + width, top - 16, `and ${more} smaller`, `text-anchor="end" ${SMALL}`) : '';
  return [...grid, ...hours, ...lines, ...legend.draw(y + high + 34), rest].join('');
}

function bars(all: readonly Series[], { fieldConfig }: Panel, [left, top, width]: Area): string {
  const last = all.map(({ name, points }) => ({ name, value: points.at(-1)![1] })).sort((a, b) => b.value - a.value);
  const most = Math.max(...last.map(({ value }) => value), 1e-9);
  return last
    .slice(0, SERIES.length)
    .map(({ name, value }, i) => {
      const y = top + i * 32;
      const figure = text(
        left + width,
        y + 23,
        withUnit(value, fieldConfig?.defaults.unit),
        'text-anchor="end" font-size="11"',
      );
      return `${text(left, y + 8, name, SMALL)}<rect x="${left}" y="${y + 14}" width="${((width - 56) * value) / most}" height="10" rx="2" fill="${SERIES[0]}"/>${figure}`;
    })
    .join('');
}

/** Returns the colour of a value by the thresholds of the dashboard, or the colour of the text if no threshold applies. */
function stateOf(value: number, { options, fieldConfig }: Panel): string {
  const steps = options?.colorMode === 'value' ? (fieldConfig?.defaults.thresholds?.steps ?? []) : [];
  const step = steps.findLast((one) => one.value === null || value >= one.value);
  return STATES[step?.color ?? ''] ?? INK;
}

function drawn(panel: Panel, series: readonly Series[]): string {
  const { type, title, gridPos, fieldConfig } = panel;
  const [x, y] = [gridPos.x * COLUMN + 4, gridPos.y * ROW + 4];
  const [width, height] = [gridPos.w * COLUMN - 8, gridPos.h * ROW - 8];
  if (type === 'row') return text(x + 4, y + 17, title, 'font-size="14" font-weight="600"');
  const frame = `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${height}" rx="3" fill="${PANEL}" stroke="${LINE}"/>${text(x + (type === 'stat' ? 5 : 8), y + 19, title, `font-size="${type === 'stat' ? 11 : 12}" font-weight="600"`)}`;
  if (series.length === 0)
    return `${frame}${text(x + width / 2, y + height / 2 + 8, 'No data', `text-anchor="middle" fill="${DIM}"`)}`;
  if (type === 'stat') {
    const value = series[0]!.points.at(-1)![1];
    const words = withUnit(value, fieldConfig?.defaults.unit);
    const [number = '', unit = ''] = words.split(' ');
    return `${frame}<text x="${(x + width / 2).toFixed(1)}" y="${y + height / 2 + 22}" text-anchor="middle" font-size="24" fill="${stateOf(value, panel)}">${number}<tspan font-size="13"> ${unit}</tspan></text>`;
  }
  const draw = type === 'bargauge' ? bars : curves;
  return frame + draw(series, panel, [x + 10, y + 38, width - 20, height - 42]);
}

if (import.meta.main) {
  const [prometheus = 'http://127.0.0.1:9090', minutes = '10', end] = process.argv.slice(2);
  const to = end === undefined ? Date.now() / 1_000 : Number(end);
  const panels = await drawnPanels();
  const parts: string[] = [];
  for (const panel of panels)
    parts.push(drawn(panel, await seriesOf(panel, prometheus, to - Number(minutes) * 60, to)));
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${ROWS * ROW}" font-family="Inter, ui-sans-serif, system-ui, Helvetica, Arial, sans-serif" font-size="13" fill="${INK}" role="img">
<title>The Grafana dashboard: its first rows</title>
${inTheDark(DARK)}
<rect width="${WIDTH}" height="${ROWS * ROW}" rx="6" fill="${PAPER}"/>
${parts.join('\n')}
</svg>
`;
  await Bun.write(FILE, svg);
}
