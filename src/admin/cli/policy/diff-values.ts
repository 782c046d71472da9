/** The longest that a line with two values may be, and each of them on a line of its own, in characters. */
const LINE_MAX = 96;
const VALUE_MAX = 160;
/** Characters of the common beginning that are shown before two long values differ. */
const CONTEXT = 24;

/** `1 → 1.5` on one line, or the two values on a line each, cut around where they part. */
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

/** A value of a policy, much as its file has it. */
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

/** `6.8 → 16.8`, or the one of them that there is. */
export const pair = (a: string | null, b: string | null): string =>
  a === b ? `${a}` : `${a ?? 'none'} → ${b ?? 'none'}`;

/** `+10, +147 %`; empty where nothing changed. */
export function growth(a: number, b: number): string {
  const by = b - a;
  if (short(by) === '0') return '';
  const share = a === 0 ? '' : `, ${signed((by / a) * 100, 3)} %`;
  return ` (${signed(by, 4)}${share})`;
}

/** Four digits: enough to compare by. */
export const short = (value: number): string =>
  Number(value.toPrecision(4)).toLocaleString('en', { maximumFractionDigits: 9 }).replace(/^-0$/, '0');

const signed = (value: number, digits: number): string => {
  const text = Number(value.toPrecision(digits)).toLocaleString('en', { maximumFractionDigits: 9 });
  return value > 0 ? `+${text}` : text;
};
