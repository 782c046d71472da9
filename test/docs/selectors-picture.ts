import { UNNAMED } from '../../src/operate/policy/hypothetical.ts';
import { certify } from '../../src/routing/certify.ts';
import { type Runtime, strategyOf } from '../../src/runtime/runtime.ts';
import { factsFor, runtimeWith } from '../panel/decide.ts';
import { SELECTORS, type Selector } from '../panel/judge.ts';
import { KEY_SETS } from '../panel/offers.ts';
import { requestOf } from './selectors-page.ts';
import { DIM, INK, LINE, text as textAt } from './svg.ts';

/**
 * The picture of `docs/route/selectors.md`: cost against quality of every model, for four requests of the panel and all keys,
 * with the three choices marked. Every figure in it is an estimate of the shipped policy.
 */
const REQUESTS: readonly (readonly [id: string, title: string])[] = [
  ['good-morning-one-line', '“Good morning :)”'],
  ['extract-emails-plain', 'Addresses and numbers out of a text'],
  ['code-rust-lru', 'A thread-safe cache in Rust'],
  ['proof-functional-equation', 'A functional equation, with proof'],
];

interface Point {
  readonly model: string;
  readonly cost: number;
  readonly quality: number;
}

interface Panel {
  readonly title: string;
  readonly points: readonly Point[];
  readonly choices: ReadonlyMap<Selector, string>;
}

export function selectorsPicture(): string {
  const runtime = runtimeWith(KEY_SETS.find(({ name }) => name === 'all')!);
  return draw(REQUESTS.map(([id, title]) => panelFor(id, title, runtime)));
}

function panelFor(id: string, title: string, runtime: Runtime): Panel {
  const choices = new Map<Selector, string>();
  let points: Point[] = [];
  for (const selector of SELECTORS) {
    const facts = factsFor(requestOf(id), selector, runtime);
    const { choice, candidates } = certify(runtime.snapshot, facts, { ...UNNAMED, ...strategyOf(facts, runtime) });
    if (choice !== null) choices.set(selector, choice);
    points = candidates
      .filter(({ rank }) => rank !== null)
      .map(({ model, costCredits, quality }) => ({ model, cost: costCredits, quality: quality! }));
  }
  return { title, points, choices };
}

const [WIDTH, HEIGHT] = [920, 720];
const PLOT = { width: 370, height: 200, left: 72, top: 86, stepX: 440, stepY: 322 };
/** Apart for most kinds of colour blindness (Okabe and Ito); each ring has a size of its own besides. */
const COLOURS: Readonly<Record<Selector, string>> = {
  auto: '#0072b2',
  'auto-cheap': '#009e73',
  'auto-fast': '#d55e00',
};
const RING: Readonly<Record<Selector, number>> = { auto: 6, 'auto-cheap': 9, 'auto-fast': 12 };

function draw(panels: readonly Panel[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="ui-sans-serif, system-ui, Segoe UI, Helvetica, Arial, sans-serif" font-size="12" fill="${INK}" role="img">
<title>Cost and quality of every model for four requests, with what the three selectors choose</title>
<rect x="0.5" y="0.5" width="${WIDTH - 1}" height="${HEIGHT - 1}" rx="10" fill="#ffffff" stroke="${LINE}"/>
${text(28, 34, 'Quality against cost, every provider’s key set', 'font-size="17" font-weight="600"')}
${panels.map((panel, at) => plot(panel, PLOT.left + (at % 2) * PLOT.stepX, PLOT.top + Math.floor(at / 2) * PLOT.stepY)).join('\n')}
</svg>
`;
}

const ring = (x: number, y: number, selector: Selector, radius = RING[selector]): string =>
  `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${radius}" fill="none" stroke="${COLOURS[selector]}" stroke-width="2.5"/>`;

function plot({ title, points, choices }: Panel, left: number, top: number): string {
  const { width, height } = PLOT;
  const logs = points.map(({ cost }) => Math.log10(cost));
  const [from, to] = [Math.floor(Math.min(...logs)), Math.ceil(Math.max(...logs))];
  const qualities = points.map(({ quality }) => quality);
  const step = Math.max(...qualities) - Math.min(...qualities) < 0.15 ? 0.02 : 0.05;
  const least = Math.floor(Math.min(...qualities) / step - 0.5) * step;
  const most = Math.ceil(Math.max(...qualities) / step + 0.2) * step;
  const x = (cost: number) => left + ((Math.log10(cost) - from) / (to - from)) * width;
  const y = (quality: number) => top + height - ((quality - least) / (most - least)) * height;
  const decades = Array.from({ length: to - from + 1 }, (_, at) => from + at);
  const shares = Array.from({ length: Math.round((most - least) / step) }, (_, at) => least + at * step);
  const marks = SELECTORS.flatMap((selector, at) => {
    const model = choices.get(selector);
    const point = points.find((one) => one.model === model);
    const line = top + height + 42 + at * 17;
    const label = `${text(left + 18, line + 4, selector, `fill="${COLOURS[selector]}" font-weight="600"`)}${text(left + 106, line + 4, model ?? 'refused')}`;
    return [ring(left, line, selector, 5), label, point ? ring(x(point.cost), y(point.quality), selector) : ''];
  });
  return [
    text(left, top - 14, title, 'font-size="14" font-weight="600"'),
    ...decades.map((decade) => {
      const at = x(10 ** decade);
      return `<line x1="${at.toFixed(1)}" x2="${at.toFixed(1)}" y1="${top}" y2="${top + height}" stroke="${LINE}"/>${text(at, top + height + 16, `${Number((10 ** decade).toPrecision(1))}${decade === to ? ' Credits' : ''}`, `fill="${DIM}" text-anchor="${decade === to ? 'end' : 'middle'}"`)}`;
    }),
    ...shares.map(
      (share) =>
        `<line x1="${left}" x2="${left + width}" y1="${y(share).toFixed(1)}" y2="${y(share).toFixed(1)}" stroke="${LINE}"/>${text(left - 8, y(share) + 4, `${Math.round(share * 100)} %`, `fill="${DIM}" text-anchor="end"`)}`,
    ),
    ...points.map(
      ({ cost, quality }) => `<circle cx="${x(cost).toFixed(1)}" cy="${y(quality).toFixed(1)}" r="3" fill="${DIM}"/>`,
    ),
    ...marks,
  ].join('\n');
}

const text = (x: number, y: number, words: string, more = ''): string =>
  textAt(Number(x.toFixed(1)), Number(y.toFixed(1)), words, more);
