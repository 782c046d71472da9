import { type Decimal, parseDecimal, toNumber } from '../../core/decimal.ts';
import type { Account } from './account.ts';
import type { Node } from './tree.ts';

/** A scalar's decimal; null for anything else. Quotes do not matter: LiteLLM reads numbers in them, too. */
export function decimalOf(node: Node | undefined): Decimal | null {
  return node?.kind === 'scalar' ? parseDecimal(node.text.replace(/(?<=\d)_(?=\d)/g, '').replace(/^\./, '0.')) : null;
}

/** A number that is at least 0. What is none is a problem, and null. */
export function numberOf(node: Node | undefined, account: Account, what: string): number | null {
  if (!node) return null;
  const decimal = decimalOf(node);
  if (decimal && decimal.digits >= 0n) return toNumber(decimal);
  account.problem(node, `it must be ${what}`);
  return null;
}

/** Whether a value says yes, in any way that YAML has; null where it says neither. */
export function switchOf(node: Node | undefined): boolean | null {
  if (node?.kind !== 'scalar') return null;
  if (/^(?:true|yes|on)$/i.test(node.text)) return true;
  return /^(?:false|no|off)$/i.test(node.text) ? false : null;
}

/** A decimal in plain digits, without needless zeros. */
export function plain({ digits, scale }: Decimal): string {
  const text = digits.toString().padStart(scale + 1, '0');
  const fraction = scale === 0 ? '' : text.slice(-scale).replace(/0+$/, '');
  const whole = scale === 0 ? text : text.slice(0, -scale);
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

/** At most so many decimals; what is more is rounded up, so that nothing is charged too low. */
export function roundedUp(decimal: Decimal, decimals: number): Decimal {
  const { digits, scale } = decimal;
  if (scale <= decimals) return decimal;
  const unit = 10n ** BigInt(scale - decimals);
  return { digits: (digits + unit - 1n) / unit, scale: decimals };
}

/** The nearest double. */
export const toCount = toNumber;

export const times = ({ digits, scale }: Decimal, factor: bigint): Decimal => ({ digits: digits * factor, scale });

/** Seconds of a LiteLLM duration such as `30s`, `10m`, `24h`, `7d`, `2w`, `1mo`; null for what is none. */
function secondsOf(text: string): number | null {
  const [, count = '', unit = ''] = /^(\d{1,6})\s*(s|m|h|d|w|mo)$/.exec(text) ?? [];
  const seconds = SECONDS[unit];
  return seconds === undefined ? null : Number(count) * seconds;
}

const DAY_S = 86_400;
const SECONDS: Readonly<Record<string, number>> = {
  s: 1,
  m: 60,
  h: 3_600,
  d: DAY_S,
  w: 7 * DAY_S,
  mo: 30 * DAY_S,
};

export type Window = 'day' | 'week' | 'month' | 'total';

/** A window of the calendar that stands for a duration, with how it differs. */
export interface Windowed {
  readonly window: Window;
  readonly note: string;
  /** What part of the limit each window gets; below 1 where the duration is longer than any window. */
  readonly share: number;
}

/** The window for a budget's duration; null for a text that is none. Never lets more be spent at a time than the duration did. */
export function windowOf(duration: string | null): Windowed | null {
  if (duration === null || duration === '') {
    return { window: 'total', share: 1, note: 'without a duration it is never reset: a budget in total' };
  }
  const seconds = secondsOf(duration);
  if (seconds === null || seconds === 0) return null;
  const days = seconds / DAY_S;
  if (days <= 1) {
    const stricter = days < 1 ? `, which is stricter than each ${duration}` : '';
    return { window: 'day', share: 1, note: `by the calendar: a day from midnight, UTC${stricter}` };
  }
  if (days <= 7)
    return { window: 'week', share: 1, note: `by the calendar: a week from Monday, rather than ${duration}` };
  if (days <= 31) {
    const rather = duration.endsWith('mo') ? ', UTC' : `, rather than ${duration}`;
    return { window: 'month', share: 1, note: `by the calendar: a month from its first day${rather}` };
  }
  return { window: 'month', share: 30 / days, note: `a month's share of it, for no window is as long as ${duration}` };
}
