import { rounded } from '../../routing/advise.ts';
import type { CandidateEntry, Certificate } from '../../routing/certificate.ts';
import { placeText } from '../../routing/story.ts';

/** Columns of a terminal. */
const WIDTH = 100;
/** The least that is left of a name. */
const NAME_MIN = 12;

/** The candidates as a table, best first, and under it those that were left out, with the reasons. */
export function certificateText({ candidates }: Certificate, terminal: boolean): string {
  const ranked = candidates.filter(({ rank }) => rank !== null);
  const leftOut = candidates.filter(({ rank }) => rank === null);
  const tables = [
    ...(ranked.length > 0 ? [rankedTable(ranked, terminal)] : []),
    ...(leftOut.length > 0 ? [leftOutTable(leftOut, terminal)] : []),
  ];
  return tables.join('\n');
}

function rankedTable(ranked: readonly CandidateEntry[], terminal: boolean): string {
  const parts = [...new Set(ranked.flatMap((one) => Object.keys(one.parts)))];
  const head = ['', 'model', 'Q', 'C', 'L', 'utility', ...parts.map(visible)];
  const rows = ranked.map((one) => [
    `${one.rank}`,
    one.model,
    one.quality.toFixed(3),
    `${rounded(one.costCredits)}`,
    `${Math.round(one.latencyMs)}`,
    utilityText(one.utility!),
    ...parts.map((part) => (part in one.parts ? utilityText(one.parts[part]!) : '')),
  ]);
  const [names, ...lines] = grid([head, ...rows], terminal, (column) => column !== 1);
  if (!terminal) return `${[names, ...lines].join('\n')}\n`;
  return `${[dim(names!), bold(lines[0]!), ...lines.slice(1)].join('\n')}\n`;
}

/** Four decimals, or as many digits: strategies have scales of their own. */
const utilityText = (value: number): string =>
  (Math.abs(value) < 1_000 ? value.toFixed(4) : `${Number(value.toPrecision(5))}`).replace(/^-(?=0\.0*$)/, '');

function leftOutTable(leftOut: readonly CandidateEntry[], terminal: boolean): string {
  const rows = leftOut.map(({ model, rejections }) => {
    const reasons = rejections.map(({ text, rules }) => {
      const places = rules.map(({ place }) => placeText(place)).join(', ');
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
  return `${[terminal ? dim(names) : names, ...rows.map(line)].join('\n')}\n`;
}

/** A paragraph for each text. */
export function paragraphs(texts: readonly string[], terminal: boolean): string {
  const lines = texts.map(visible).map((text) => (terminal ? wrapped(text, WIDTH).join('\n') : text));
  return lines.map((text) => `${text}\n`).join('');
}

/** Lines of columns; on a terminal the names in the second give way first, and then the ends of lines. */
export function grid(
  rows: readonly (readonly string[])[],
  terminal: boolean,
  isRight: (column: number) => boolean = () => false,
): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const others = widths.reduce((all, width, column) => all + (column === 1 ? 0 : width) + 2, -2);
  if (terminal) widths[1] = Math.min(widths[1]!, Math.max(NAME_MIN, WIDTH - others));
  return rows.map((row) => {
    const cells = row.map((cell, column) => {
      const shown = clipped(cell, widths[column]!);
      return isRight(column) ? shown.padStart(widths[column]!) : shown.padEnd(widths[column]!);
    });
    const line = cells.join('  ').trimEnd();
    return terminal ? clipped(line, WIDTH) : line;
  });
}

const clipped = (text: string, width: number): string =>
  text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;

/** Lines of at most so many columns, broken between words; a longer word has a line of its own. */
function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** What callers and plugins word, as languages and names of parts, must not command the terminal of whoever reads it. */
const visible = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd');

const bold = (text: string): string => `\u001b[1m${text}\u001b[0m`;
const dim = (text: string): string => `\u001b[2m${text}\u001b[0m`;
