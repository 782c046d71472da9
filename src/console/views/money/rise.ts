import { percent, timesText, usd } from '../../design/format.ts';

/** The spend of a key, team, model … in a period, and in the period before if that is known. */
interface ComparedSpend {
  /** '' for none, such as keys without a team; null for the row with the sum of all other rows. */
  readonly id: string | null;
  readonly name: string;
  readonly whole: { readonly usd: string; readonly credits: number };
  readonly before: { readonly usd: string; readonly credits: number } | null;
  /** How much more it spends than before; null if the earlier spend is not known. */
  readonly change: { readonly credits: number } | null;
}

/** The change relative to the period before: `+18 %`, `4.2 ×`, `new`; empty if the period before is not known. */
export function partOf({ whole, before }: Pick<ComparedSpend, 'whole' | 'before'>): string {
  if (!before) return '';
  if (before.credits <= 0) return whole.credits > 0 ? 'new' : '';
  const times = whole.credits / before.credits;
  if (times >= 2) return `${timesText(times)} ×`;
  const share = Math.round((times - 1) * 100) / 100;
  if (share === 0) return 'same';
  return `${share > 0 ? '+' : '−'}${percent(Math.abs(share)).short}`;
}

/** The change as a part of a sentence: `spends 4.2 times as much as before`. */
function riseText(row: ComparedSpend): string {
  const part = partOf(row);
  if (part === 'new') return `spends ${usd(row.whole.usd).short} and spent nothing before`;
  const sum = `${usd(row.whole.usd).short}, up from ${usd(row.before?.usd ?? null).short}`;
  return part.endsWith('×') ? `spends ${part.slice(0, -2)} times as much as before: ${sum}` : `spends ${sum}`;
}

/**
 * Says which key, team, model … spends more than before; which spends the most if the period before is not known.
 * @param noun such as `Key`
 * @param rows the one with the largest rise first
 */
export function riseSentence(noun: string, rows: readonly ComparedSpend[]): string {
  const [most] = rows;
  if (!most) return `Spend by ${noun.toLowerCase()}`;
  if (most.id !== null && most.before === null) {
    return `${noun} ${most.name} spends the most: ${usd(most.whole.usd).short}.`;
  }
  if (most.id === null || (most.change?.credits ?? 0) <= 0) return `No ${noun.toLowerCase()} spends more than before.`;
  return `${noun} ${most.name} ${riseText(most)}.`;
}
