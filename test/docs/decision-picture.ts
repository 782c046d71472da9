import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runHere } from '../support/run-here.ts';
import { DIM, INK, LINE, text } from './svg.ts';

/**
 * The picture of the README: a decision of the shipped policy with one rule of a team, as `policy explain --json` tells
 * it. Every figure and word in it is read from there.
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
/** Models that are drawn of those that are left out: one for each reason. */
const LEFT_OUT_SHOWN = 3;

interface Candidate {
  readonly model: string;
  readonly rank: number | null;
  readonly quality: number;
  readonly cost_credits: number;
  readonly latency_ms: number;
  readonly utility: number | null;
  readonly parts: { readonly quality: number; readonly cost: number; readonly latency: number } | null;
  readonly worst_case_credits: number;
  readonly rejections: readonly {
    readonly kind: string;
    readonly text: string;
    readonly rules: readonly { readonly name: string }[];
  }[];
}

interface Explained {
  readonly choice: string;
  readonly route_reason: string;
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
const ROW = 30;
const TOP = 176;
/** Where utility is 0, and how many pixels 1 is. */
const ZERO = 470;
const SCALE = 490;
const [GAIN, COST, TIME, CHOSEN] = ['#2f81f7', '#e16f24', '#9a9fa6', '#ddf4ff'];

function draw({ choice, route_reason, facts, expected_output_tokens, candidates }: Explained): string {
  const ranked = candidates.filter(({ rank }) => rank !== null);
  const rejected = candidates.filter(({ rank }) => rank === null);
  const shown = oneForEachReason(rejected);
  const below = TOP + ranked.length * ROW + 14;
  const height = below + shown.length * 26 + 62;
  const chosen = ranked.find(({ model }) => model === choice)!;
  const about = `task ${facts.task}, ${facts.languages.join(', ')}, about ${facts.estimated_input_tokens} tokens in and ${figure(expected_output_tokens)} out`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="ui-sans-serif, system-ui, Segoe UI, Helvetica, Arial, sans-serif" font-size="14" fill="${INK}" role="img">
<title>Why ${choice}: a decision, explained</title>
<rect x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="10" fill="#ffffff" stroke="${LINE}"/>
${text(28, 38, `Why ${choice}?`, `font-size="20" font-weight="600"`)}
${text(28, 64, `“${REQUEST.messages[0]!.content}”`, 'font-style="italic"')}
${text(28, 86, `model: auto · max_latency_ms: ${figure(REQUEST.constraints.max_latency_ms)} · budget_limit: ${REQUEST.budget_limit} · key of the team payments`, `fill="${DIM}"`)}
${text(28, 108, `read of it: ${about}`, `fill="${DIM}"`)}
${header()}
${ranked.map((candidate, at) => rankedRow(candidate, at, candidate.model === choice)).join('\n')}
${text(28, below, `left out, ${rejected.length} models in all`, `fill="${DIM}" font-size="12"`)}
${shown.map((candidate, at) => leftOutRow(candidate, below + 24 + at * 26)).join('\n')}
${text(28, height - 22, `${route_reason}: the highest utility. It can cost ${figure(chosen.worst_case_credits)} Credits at most; the worst case of it and its fallbacks is set aside first.`, 'font-size="13"')}
</svg>
`;
}

function header(): string {
  const y = TOP - 34;
  const small = `fill="${DIM}" font-size="12"`;
  const legend = [
    [GAIN, 'quality, less', 0],
    [TIME, 'time', 96],
    [COST, 'cost', 148],
  ] as const;
  return [
    `<line x1="28" x2="${WIDTH - 28}" y1="${TOP - 22}" y2="${TOP - 22}" stroke="${LINE}"/>`,
    text(64, y, 'model', small),
    text(282, y, 'quality', `${small} text-anchor="end"`),
    text(352, y, 'Credits', `${small} text-anchor="end"`),
    text(424, y, 's', `${small} text-anchor="end"`),
    ...legend.map(
      ([fill, what, x]) =>
        `<rect x="${ZERO + x}" y="${y - 10}" width="11" height="11" rx="2" fill="${fill}"/>${text(ZERO + x + 16, y, what, small)}`,
    ),
    text(WIDTH - 28, y, 'utility', `${small} text-anchor="end"`),
  ].join('\n');
}

/** The whole bar is what the expected quality is worth; time and cost are taken off it, and the utility is left. */
function rankedRow(
  { rank, model, quality, cost_credits, latency_ms, utility, parts }: Candidate,
  at: number,
  isChoice: boolean,
): string {
  const y = TOP + at * ROW;
  const end = 'text-anchor="end"';
  const bold = isChoice ? 'font-weight="600"' : '';
  const gain = parts!.quality * SCALE;
  const cost = -parts!.cost * SCALE;
  const time = -parts!.latency * SCALE;
  const bar = (x: number, width: number, fill: string) =>
    `<rect x="${x.toFixed(1)}" y="${y - 12}" width="${width.toFixed(1)}" height="15" fill="${fill}"/>`;
  const left = ZERO + gain - cost - time;
  return [
    isChoice ? `<rect x="20" y="${y - 20}" width="${WIDTH - 40}" height="${ROW - 1}" rx="6" fill="${CHOSEN}"/>` : '',
    text(48, y, String(rank), `${end} fill="${DIM}"`),
    text(64, y, model, bold),
    text(282, y, `${Math.round(quality * 100)} %`, end),
    text(352, y, figure(cost_credits), end),
    text(424, y, (latency_ms / 1_000).toFixed(1), end),
    bar(ZERO, left - ZERO, GAIN),
    bar(left, time, TIME),
    bar(left + time, cost, COST),
    text(WIDTH - 28, y, utility!.toFixed(3), `${end} ${bold}`),
  ].join('\n');
}

function leftOutRow({ model, rejections }: Candidate, y: number): string {
  const why = rejections
    .map(({ text: words, rules }) =>
      rules.length === 0 ? words : `the rule ${rules.map(({ name }) => name).join(', ')}`,
    )
    .join('; ');
  return `${text(48, y, '✕', `text-anchor="end" fill="${COST}"`)}${text(64, y, model, `fill="${DIM}"`)}${text(240, y, why, `fill="${DIM}" font-size="13"`)}`;
}

function oneForEachReason(rejected: readonly Candidate[]): readonly Candidate[] {
  const found = new Map<string, Candidate>();
  for (const candidate of rejected) {
    const reason = candidate.rejections.map(({ kind }) => kind).join();
    if (!found.has(reason)) found.set(reason, candidate);
  }
  return [...found.values()].slice(0, LEFT_OUT_SHOWN);
}

/** `1,200`, `24.04`, `4.51`: at most two places. */
const figure = (value: number): string => value.toLocaleString('en-US', { maximumFractionDigits: 2 });
