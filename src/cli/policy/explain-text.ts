import { shortPlace } from '../../core/decision/sentence.ts';
import { shownCredits } from '../../core/money/ceiling.ts';
import type { SourcePlace } from '../../core/source-place.ts';
import { painter } from '../../core/text/paint.ts';
import { wrapped } from '../../core/text/text.ts';
import { visible } from '../../core/text/visible.ts';
import { SHOWN_QUALITY_MAX, seconds } from '../../routing/advise.ts';
import type { CandidateEntry } from '../../routing/certificate.ts';
import { clipped, grid, WIDTH } from '../terminal.ts';

/** The values of a candidate that tables show. */
export interface CertificateRow
  extends Pick<CandidateEntry, 'model' | 'rank' | 'quality' | 'countedQuality' | 'costCredits'>,
    Pick<CandidateEntry, 'latencyMs' | 'latencyBasis' | 'utility' | 'parts'> {
  readonly rejections: readonly {
    readonly text: string;
    readonly rules: readonly { readonly place: Pick<SourcePlace, 'file' | 'line'> }[];
  }[];
}

/** Writes the candidates as a table, best first. Below the table are the rejected models with the reasons. */
export function certificateText(
  { candidates }: { readonly candidates: readonly CertificateRow[] },
  terminal: boolean,
): string {
  const ranked = candidates.filter(({ rank }) => rank !== null);
  const leftOut = candidates.filter(({ rank }) => rank === null);
  const tables = [
    ...(ranked.length > 0 ? [rankedTable(ranked, terminal)] : []),
    ...(leftOut.length > 0 ? [leftOutTable(leftOut, terminal)] : []),
  ];
  return tables.join('\n');
}

/** The source of a latency, in one word. */
const BASIS = {
  measured: 'measured',
  stated: 'stated',
  estimated: 'median',
  neutral: 'neutral',
  slow: 'slow',
} as const;

function rankedTable(ranked: readonly CertificateRow[], terminal: boolean): string {
  const parts = [...new Set(ranked.flatMap((one) => Object.keys(one.parts)))];
  // The parts add up to the utility.
  const sum = parts.map((part, at) => `${at === 0 ? '=' : '+'} ${visible(part)}`);
  // Models that an order ranks have no utility.
  const isScored = ranked.some(({ utility }) => utility !== null);
  const head = ['', 'model', 'quality', 'Credits', 'latency', 'source', ...(isScored ? ['utility'] : []), ...sum];
  const rows = ranked.map((one) => [
    `${one.rank}`,
    one.model,
    qualityText(one),
    `${shownCredits(one.costCredits)}`,
    `${seconds(one.latencyMs)} s`,
    BASIS[one.latencyBasis],
    ...(isScored ? [one.utility === null ? '' : utilityText(one.utility)] : []),
    ...parts.map((part) => (part in one.parts ? utilityText(one.parts[part]!) : '')),
  ]);
  const [names, ...lines] = grid([head, ...rows], terminal, (column) => column !== 1);
  const paint = painter(terminal);
  return `${[paint.faint(names!), paint.strong(lines[0]!), ...lines.slice(1)].join('\n')}\n`;
}

/** Writes `90.5 % +6.0`: the share of good answers, and how much more or less it counts. */
function qualityText({ quality, countedQuality }: CertificateRow): string {
  if (quality === null) return 'unknown';
  const share = Math.min(quality, SHOWN_QUALITY_MAX);
  const bonus = (100 * (Math.min(countedQuality, SHOWN_QUALITY_MAX) - share)).toFixed(1);
  const added = Number(bonus) === 0 ? '' : Number(bonus) > 0 ? ` +${bonus}` : ` ${bonus.replace('-', '−')}`;
  return `${(100 * share).toFixed(1)} %${added}`;
}

/** Writes four decimals, or five significant digits from 1,000 on, because each strategy has its own scale. */
const utilityText = (value: number): string =>
  (Math.abs(value) < 1_000 ? value.toFixed(4) : `${Number(value.toPrecision(5))}`).replace(/^-(?=0\.0*$)/, '');

function leftOutTable(leftOut: readonly CertificateRow[], terminal: boolean): string {
  const rows = leftOut.map(({ model, rejections }) => {
    const reasons = rejections.map(({ text, rules }) => {
      const places = rules.map(({ place }) => shortPlace(place)).join(', ');
      return places ? `${text} (${places})` : text;
    });
    return [model, visible(reasons.join('; '))] as const;
  });
  const longest = Math.max(...rows.map(([model]) => model.length), 'left out'.length);
  const width = terminal ? Math.min(longest, WIDTH / 2) : longest;
  const line = ([model, why]: readonly [string, string]) => {
    const [first = '', ...more] = terminal ? wrapped(why, WIDTH - width - 2) : [why];
    const indent = ' '.repeat(width + 2);
    return [`${clipped(model, width).padEnd(width)}  ${first}`, ...more.map((rest) => indent + rest)].join('\n');
  };
  const names = line(['left out', 'because']);
  return `${[painter(terminal).faint(names), ...rows.map(line)].join('\n')}\n`;
}
