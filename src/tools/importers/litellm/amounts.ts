import type { WindowKind } from '../../../core/money/budget.ts';
import { type Decimal, parseDecimal, toNumber } from '../../../core/money/decimal.ts';
import type { OutcomeRecorder } from './outcomes.ts';
import type { ConfigNode } from './tree.ts';

/** The decimal in a scalar; null for any other node. Quoted numbers count, because LiteLLM reads them, too. */
export function decimalOf(node: ConfigNode | undefined): Decimal | null {
  return node?.kind === 'scalar' ? parseDecimal(node.text.replace(/(?<=\d)_(?=\d)/g, '').replace(/^\./, '0.')) : null;
}

/** The number in a scalar, at least 0. For any other value, reports a problem and returns null. */
export function numberOf(node: ConfigNode | undefined, outcomes: OutcomeRecorder, what: string): number | null {
  if (!node) return null;
  const decimal = decimalOf(node);
  return decimal && decimal.digits >= 0n ? toNumber(decimal) : outcomes.problem(node, `it must be ${what}`);
}

/** The boolean in a scalar, according to YAML 1.1 or 1.2; null for any other value. */
export function booleanOf(node: ConfigNode | undefined): boolean | null {
  if (node?.kind !== 'scalar') return null;
  if (/^(?:true|yes|on)$/i.test(node.text)) return true;
  return /^(?:false|no|off)$/i.test(node.text) ? false : null;
}

/** The seconds in a LiteLLM duration such as `30s`, `10m`, `24h`, `7d`, `2w` or `1mo`; null for any other text. */
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

/** The calendar window that replaces a duration, with a note on the difference. */
interface WindowMapping {
  readonly window: WindowKind;
  readonly note: string;
  /** The share of the limit that each window gets. The share is below 1 if the duration is longer than any window. */
  readonly share: number;
}

/**
 * Converts the duration of a budget to a calendar window. The window never allows more spend at a time than the duration.
 * @returns null if the text is not a duration
 */
export function windowOf(duration: string | null): WindowMapping | null {
  if (duration === null || duration === '') {
    return { window: 'total', share: 1, note: 'without a duration the budget never renews: a total' };
  }
  const seconds = secondsOf(duration);
  if (seconds === null || seconds === 0) return null;
  const days = seconds / DAY_S;
  if (days <= 1) {
    const stricter = days < 1 ? `, which is stricter than each ${duration}` : '';
    return { window: 'day', share: 1, note: `by the calendar: from midnight, UTC${stricter}` };
  }
  if (days <= 7)
    return { window: 'week', share: 1, note: `by the calendar: a week from Monday, rather than ${duration}` };
  if (days <= 31) {
    const rather = duration.endsWith('mo') ? ', UTC' : `, rather than ${duration}`;
    return { window: 'month', share: 1, note: `by the calendar: a month from its first day${rather}` };
  }
  return { window: 'month', share: 30 / days, note: `a month's share, as no window is as long as ${duration}` };
}
