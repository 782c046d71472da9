import { UNNAMED } from '../../src/admin/use-cases/policy/hypothetical.ts';
import { type Runtime, strategyOf } from '../../src/policy/runtime/runtime.ts';
import { certify } from '../../src/routing/certify.ts';
import { factsFor, runtimeWith } from '../panel/decide.ts';
import { SELECTORS, type Selector } from '../panel/judge.ts';
import { KEY_SETS } from '../panel/offers.ts';
import { requestOf } from './choices-page.ts';
import { ACCENT, DIM, GOOD, LINE, picture, text, WARM } from './svg.ts';

/**
 * The picture of `docs/route/how-a-model-is-chosen.md`: cost and quality of every model, for a usual and a hard request of the panel with the keys of three providers, and the choices
 * of the three selectors. Every figure in the picture is an estimate of the shipped policy.
 */
const REQUESTS: readonly (readonly [id: string, title: string])[] = [
  ['wasser-siedepunkt', 'Why water boils earlier on a mountain'],
  ['code-rust-lru', 'A thread-safe cache in Rust (hard)'],
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
  const runtime = runtimeWith(KEY_SETS.find(({ name }) => name === 'three')!);
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

const [WIDTH, HEIGHT] = [920, 468];
const PLOT = { width: 376, height: 190, left: 78, top: 132, stepX: 438 };
/**
 * Each selector has its own colour and size: rings around one model are inside each other, and readers can tell them apart without the
 * colour.
 */
const COLOURS: Readonly<Record<Selector, string>> = { auto: ACCENT, 'auto-cheap': GOOD, 'auto-fast': WARM };
const RING: Readonly<Record<Selector, number>> = { auto: 6, 'auto-cheap': 9, 'auto-fast': 12 };

function draw(panels: readonly Panel[]): string {
  const body = [
    text(28, 38, 'Cost and quality of every model, for two requests', 'font-size="20" font-weight="600"'),
    text(
      28,
      62,
      'A dot is a model, a ring the choice of a selector. The keys of OpenAI, Anthropic and Gemini are set; the scale of the cost is logarithmic.',
      `fill="${DIM}"`,
    ),
    ...panels.map((panel, at) => plot(panel, PLOT.left + at * PLOT.stepX, PLOT.top)),
  ];
  return picture(
    WIDTH,
    HEIGHT,
    'Cost and quality of every model for two requests, with the choices of the three selectors',
    body.join('\n'),
  );
}

const ring = (x: number, y: number, selector: Selector): string =>
  `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${RING[selector]}" fill="none" stroke="${COLOURS[selector]}" stroke-width="2.5"/>`;

/** Distances between the marks of an axis. The picture uses the smallest one that leaves at most `MARKS_MAX` marks. */
const STEPS = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2];
const MARKS_MAX = 8;

/** An axis over these qualities, from one mark to another, with room for a ring. */
function qualityAxis(qualities: readonly number[]) {
  const [low, high] = [Math.min(...qualities), Math.max(...qualities)];
  const step = STEPS.find((one) => (high - low) / one < MARKS_MAX - 2) ?? STEPS.at(-1)!;
  const least = Math.floor(low / step - 0.3) * step;
  const most = Math.ceil(high / step + 0.3) * step;
  const marks = Array.from({ length: Math.round((most - least) / step) + 1 }, (_, at) => least + at * step);
  // The axis ends below 1, because no model is expected to be perfect.
  return {
    least,
    most,
    marks,
    label: (mark: number) => (mark > 0.9999 ? '' : `${(mark * 100).toFixed(step < 0.01 ? 1 : 0)} %`),
  };
}

function plot({ title, points, choices }: Panel, left: number, top: number): string {
  const { width, height } = PLOT;
  const logs = points.map(({ cost }) => Math.log10(cost));
  const [from, to] = [Math.floor(Math.min(...logs)), Math.ceil(Math.max(...logs))];
  const { least, most, marks, label } = qualityAxis(points.map(({ quality }) => quality));
  const x = (cost: number) => left + ((Math.log10(cost) - from) / (to - from)) * width;
  const y = (quality: number) => top + height - ((quality - least) / (most - least)) * height;
  const decades = Array.from({ length: to - from + 1 }, (_, at) => 10 ** (from + at));
  const small = `fill="${DIM}" font-size="12"`;
  return [
    text(left, top - 32, title, 'font-size="14" font-weight="600"'),
    text(left - 8, top - 15, 'quality', `${small} text-anchor="end"`),
    ...decades.map((cost) => {
      const at = x(cost).toFixed(1);
      const credits = cost < 1 ? `${Number(cost.toPrecision(1))}` : cost.toLocaleString('en-US');
      return `<line x1="${at}" x2="${at}" y1="${top}" y2="${top + height}" stroke="${LINE}"/>${text(x(cost), top + height + 18, credits, `${small} text-anchor="middle"`)}`;
    }),
    text(left + width, top + height + 36, 'expected cost in Credits', `${small} text-anchor="end"`),
    ...marks.map(
      (mark) =>
        `<line x1="${left}" x2="${left + width}" y1="${y(mark).toFixed(1)}" y2="${y(mark).toFixed(1)}" stroke="${LINE}"/>${text(left - 8, y(mark) + 4, label(mark), `${small} text-anchor="end"`)}`,
    ),
    ...points.map(
      ({ cost, quality }) => `<circle cx="${x(cost).toFixed(1)}" cy="${y(quality).toFixed(1)}" r="3" fill="${DIM}"/>`,
    ),
    ...SELECTORS.flatMap((selector, at) => {
      const point = points.find(({ model }) => model === choices.get(selector));
      const line = top + height + 60 + at * 26;
      return [
        ring(left + 12, line, selector),
        text(left + 34, line + 4, selector, `fill="${COLOURS[selector]}" font-weight="600"`),
        text(left + 130, line + 4, choices.get(selector) ?? 'refused'),
        ...(point ? [ring(x(point.cost), y(point.quality), selector)] : []),
      ];
    }),
  ].join('\n');
}
