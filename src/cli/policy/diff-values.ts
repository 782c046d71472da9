/** The longest line with two values, and the longest value on a line of its own, in characters. */
const LINE_MAX = 96;
const VALUE_MAX = 160;
/** How many characters of the common beginning are shown before the first difference of two long values. */
const CONTEXT = 24;

/** Writes `1 → 1.5` on one line. If that is too long, each value has its own line and is cut around the first difference. */
export function fromTo(key: string, values: { readonly from?: unknown; readonly to?: unknown }): string[] {
  const from = 'from' in values ? valueText(values.from) : null;
  const to = 'to' in values ? valueText(values.to) : null;
  if (from === null || to === null) {
    return [to === null ? `- ${key}: ${folded(from ?? '', 0)}` : `+ ${key}: ${folded(to, 0)}`];
  }
  const line = `~ ${key}: ${from} → ${to}`;
  if (line.length <= LINE_MAX) return [line];
  const start = Math.max(0, commonLength(from, to) - CONTEXT);
  return [`~ ${key}:`, `    - ${folded(from, start)}`, `    + ${folded(to, start)}`];
}

/** Writes a value of a policy similar to its form in the file. */
function valueText(value: unknown): string {
  if (typeof value === 'string') return /^[\w.:/@+-]+$/.test(value) ? value : JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(valueText).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  const entries = Object.entries(value).map(([key, inner]) => `${key}: ${valueText(inner)}`);
  return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`;
}

function commonLength(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return at;
}

function folded(text: string, start: number): string {
  if (text.length <= VALUE_MAX) return text;
  const end = start + VALUE_MAX;
  const length = text.length.toLocaleString('en');
  const rest = end < text.length ? '…' : '';
  return `${start > 0 ? '…' : ''}${text.slice(start, end).toWellFormed()}${rest} (${length} characters)`;
}

/** Writes `6.8 → 16.8`, or only one value if the other is absent. */
export const pair = (a: string | null, b: string | null): string =>
  a === b ? `${a}` : `${a ?? 'none'} → ${b ?? 'none'}`;

/** Writes `+10, +147 %`; empty if nothing changed. */
export function growth(a: number, b: number): string {
  const by = b - a;
  if (short(by) === '0') return '';
  const share = a === 0 ? '' : `, ${signed((by / a) * 100, 3)} %`;
  return ` (${signed(by, 4)}${share})`;
}

/** Writes four digits, which are enough to compare. */
export const short = (value: number): string =>
  Number(value.toPrecision(4)).toLocaleString('en', { maximumFractionDigits: 9 }).replace(/^-0$/, '0');

const signed = (value: number, digits: number): string => {
  const text = Number(value.toPrecision(digits)).toLocaleString('en', { maximumFractionDigits: 9 });
  return value > 0 ? `+${text}` : text;
};
