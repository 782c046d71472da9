import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { wrapped } from '../../src/core/text/text.ts';
import { runHere } from '../support/run-here.ts';
import { ACCENT, CHOSEN, DIM, GREY, LINE, picture, text, WARM } from './svg.ts';

/**
 * The picture of the README: a decision of the shipped policy plus one rule for a team, with all figures and words from the output of
 * `policy explain --json`.
 */
const RULE = `constraints:
  - name: contracted-providers
    when: key.labels.team == "payments"
    require: model.provider in ["openai", "anthropic", "gemini"]
`;
const REQUEST = {
  model: 'auto',
  messages: [{ role: 'user', content: 'Refactor this Rust function so that it parses a date without allocating.' }],
  constraints: { max_latency_ms: 25_000 },
  budget_limit: 100,
};
const KEYS = ['OPENAI', 'ANTHROPIC', 'GEMINI', 'MISTRAL', 'DEEPSEEK'].map((name) => [`${name}_API_KEY`, 'x']);

interface Candidate {
  readonly model: string;
  readonly rank: number | null;
  readonly quality: number;
  readonly cost_credits: number;
  readonly latency_ms: number;
  readonly worst_case_credits: number;
  readonly rejections: readonly {
    readonly kind: string;
    readonly text: string;
    readonly rules: readonly { readonly name: string }[];
  }[];
}

interface Explained {
  readonly choice: string;
  readonly choice_reason: string;
  readonly facts: {
    readonly task: string;
    readonly languages: readonly string[];
    readonly estimated_input_tokens: number;
  };
  readonly expected_output_tokens: number;
  readonly candidates: readonly Candidate[];
}

export async function decisionPicture(): Promise<string> {
  return draw(await explained());
}

async function explained(): Promise<Explained> {
  const home = mkdtempSync(join(tmpdir(), 'signalbox-picture-'));
  try {
    const folder = join(home, 'policies');
    cpSync(join(import.meta.dir, '../../policies'), folder, { recursive: true });
    writeFileSync(join(folder, 'team.yaml'), RULE);
    writeFileSync(join(home, 'request.json'), JSON.stringify(REQUEST));
    const args = ['explain', '--json', '--label', 'team=payments', folder, join(home, 'request.json')];
    const { out, err, code } = await runHere(
      ['policy', ...args, '--policies', folder, '--data', home],
      Object.fromEntries(KEYS),
    );
    if (code !== 0) throw new Error(`policy explain: ${err || out}`);
    return JSON.parse(out);
  } finally {
    rmSync(home, { recursive: true });
  }
}

const WIDTH = 920;
const RIGHT = WIDTH - 28;
const ROW = 30;
const TOP = 196;
/** Where the bars begin, and their greatest width; their figures are to the right. */
const BARS = { left: 436, width: 262 };
const END = 'text-anchor="end"';
const SMALL = `fill="${DIM}" font-size="12"`;

/** Qualities are close together, so the axis begins slightly below the lowest one. */
interface Axis {
  readonly from: number;
  readonly to: number;
  x(value: number): number;
}
const TICK = 0.05;

function axisOf(ranked: readonly Candidate[]): Axis {
  const from = Math.floor(Math.min(...ranked.map(({ quality }) => quality)) / TICK - 0.2) * TICK;
  const to = Math.ceil(Math.max(...ranked.map(({ quality }) => quality)) / TICK) * TICK;
  return { from, to, x: (value) => BARS.left + ((value - from) / (to - from)) * BARS.width };
}

function draw({ choice, choice_reason, facts, expected_output_tokens, candidates }: Explained): string {
  const ranked = candidates.filter(({ rank }) => rank !== null);
  const rejected = candidates.filter(({ rank }) => rank === null);
  const axis = axisOf(ranked);
  const least = leastQuality(choice_reason, ranked);
  const reason = wrapped(`${choice_reason}.`, 132);
  const below = TOP + ranked.length * ROW + 18;
  const leftOut = leftOutRows(rejected, below + 26);
  const end = below + 26 + leftOut.length * 22;
  const chosen = ranked.find(({ model }) => model === choice)!;
  const about = `task ${facts.task}, ${facts.languages.join(', ')}, about ${facts.estimated_input_tokens} tokens in and ${figure(expected_output_tokens)} out`;
  const body = [
    text(28, 40, `Why ${choice}?`, `font-size="20" font-weight="600"`),
    text(28, 66, `“${REQUEST.messages[0]!.content}”`, 'font-size="14" font-style="italic"'),
    text(
      28,
      88,
      `model: auto · max_latency_ms: ${figure(REQUEST.constraints.max_latency_ms)} · budget_limit: ${REQUEST.budget_limit} · key of the team payments`,
      `fill="${DIM}"`,
    ),
    text(28, 108, `Read from it: ${about}`, `fill="${DIM}"`),
    ...header(axis, ranked.length, least),
    ...ranked.map((candidate, at) => rankedRow(candidate, at, candidate.model === choice, axis, least)),
    text(28, below, `Left out: ${rejected.length} of ${candidates.length} models`, 'font-weight="600"'),
    ...leftOut,
    ...reason.map((line, at) => text(28, end + 14 + at * 20, line)),
    text(
      28,
      end + 14 + reason.length * 20,
      `It can cost ${figure(chosen.worst_case_credits)} Credits at most; Signalbox first reserves the worst case of the model and its fallbacks.`,
    ),
  ];
  return picture(WIDTH, end + 38 + reason.length * 20, `Why ${choice}: a decision, explained`, body.join('\n'));
}

/** Returns the lowest quality that is good enough: the margin in the reason, below the best. */
function leastQuality(reason: string, ranked: readonly Candidate[]): number {
  const [, margin] = /within (\S+) of the best/.exec(reason) ?? [];
  if (margin === undefined) throw new Error(`the reason has no margin: ${reason}`);
  return Math.max(...ranked.map(({ quality }) => quality)) - Number(margin);
}

function header({ from, to, x }: Axis, rows: number, least: number): readonly string[] {
  const y = TOP - 32;
  const ticks = Array.from({ length: Math.round((to - from) / TICK) + 1 }, (_, at) => from + at * TICK);
  const [top, bottom] = [TOP - 22, TOP + rows * ROW - 18];
  return [
    ...ticks.map((tick) => rule(x(tick), top, bottom, LINE)),
    `<line x1="28" x2="${RIGHT}" y1="${top}" y2="${top}" stroke="${LINE}"/>`,
    text(64, y, 'model', SMALL),
    text(344, y, 'Credits', `${SMALL} ${END}`),
    text(404, y, 'seconds', `${SMALL} ${END}`),
    ...ticks.map((tick) => text(x(tick), y, `${Math.round(tick * 100)} %`, `${SMALL} text-anchor="middle"`)),
    text(x(least), y - 22, 'good enough from here', `fill="${WARM}" font-size="12" text-anchor="middle"`),
    rule(x(least), top - 8, bottom, WARM),
    text(RIGHT, y, 'quality', `${SMALL} ${END}`),
  ];
}

const rule = (x: number, top: number, bottom: number, colour: string): string =>
  `<line x1="${x.toFixed(1)}" x2="${x.toFixed(1)}" y1="${top}" y2="${bottom}" stroke="${colour}"/>`;

/** A bar shows the quality of a model; it is grey if the quality is not good enough. */
function rankedRow(
  { rank, model, quality, cost_credits, latency_ms }: Candidate,
  at: number,
  isChoice: boolean,
  { x, from }: Axis,
  least: number,
): string {
  const y = TOP + at * ROW;
  const bold = isChoice ? 'font-weight="600"' : '';
  const width = (x(quality) - x(from)).toFixed(1);
  return [
    isChoice ? `<rect x="20" y="${y - 20}" width="${WIDTH - 40}" height="${ROW - 1}" rx="6" fill="${CHOSEN}"/>` : '',
    text(48, y, String(rank), `${END} fill="${DIM}"`),
    text(64, y, model, bold),
    text(344, y, cost_credits.toFixed(2), END),
    text(404, y, (latency_ms / 1_000).toFixed(1), END),
    `<rect x="${x(from).toFixed(1)}" y="${y - 12}" width="${width}" height="15" fill="${quality >= least ? ACCENT : GREY}"/>`,
    isChoice ? rule(x(least), y - 20, y + ROW - 21, WARM) : '',
    text(RIGHT, y, `${(quality * 100).toFixed(1)} %`, `${END} ${bold}`),
  ].join('\n');
}

/** Draws every excluded model under its reason. */
function leftOutRows(rejected: readonly Candidate[], y: number): readonly string[] {
  const groups = [...Map.groupBy(rejected, reasonOf)].sort(([, a], [, b]) => b.length - a.length);
  const lines = groups.flatMap(([reason, models]) => {
    const names = models.map((one) =>
      isSlow(one) ? `${one.model} ${(one.latency_ms / 1_000).toFixed(1)} s` : one.model,
    );
    return wrapped(names.join(', '), 74).map((line, at) => [
      at === 0 ? `${models.length}` : '',
      at === 0 ? reason : '',
      line,
    ]);
  });
  return lines.map(([count = '', reason = '', line = ''], at) => {
    const top = y + at * 22;
    return `${text(48, top, count, `${END} fill="${WARM}" font-weight="600"`)}${text(64, top, reason)}${text(330, top, line, `fill="${DIM}"`)}`;
  });
}

const isSlow = ({ rejections }: Candidate): boolean => rejections.some(({ text: words }) => words.includes('latency'));

/** The reason in a few words; models with two reasons share the row `both`. */
const reasonOf = ({ rejections: [first, second] }: Candidate): string => {
  if (second !== undefined) return 'both';
  const [rule] = first!.rules;
  return rule === undefined ? 'slower than max_latency_ms' : `rule ${rule.name}`;
};

/** At most two decimals: `1,200`, `24.04`, `4.51`. */
const figure = (value: number): string => value.toLocaleString('en-US', { maximumFractionDigits: 2 });
