/**
 * An exact decimal number. Prices are read from the text of a policy and are never stored as binary fractions: `0.1` is exactly one tenth,
 * not the double nearest to it.
 */
export interface Decimal {
  /** The number without its point: 0.25 has 25. */
  readonly digits: bigint;
  /** Number of digits after the decimal point: 0.25 has 2. */
  readonly scale: number;
}

const FORM = /^([+-]?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,2}))?$/;

/** Reads `12`, `0.075` or `1e-3`. Returns null for any other text, NaN and Infinity included. */
export function parseDecimal(text: string): Decimal | null {
  const match = FORM.exec(text.trim());
  if (!match) return null;
  const [, sign, whole = '', fraction = '', exponent = '0'] = match;
  const digits = BigInt(whole + fraction) * (sign === '-' ? -1n : 1n);
  const scale = fraction.length - Number(exponent);
  return scale >= 0 ? { digits, scale } : { digits: digits * 10n ** BigInt(-scale), scale: 0 };
}

/** Returns the nearest double, for display and estimates. Never use the double of a decimal to charge money. */
export function toNumber(decimal: Decimal): number {
  return Number(decimal.digits) / 10 ** decimal.scale;
}

/** Writes a decimal in plain notation without trailing zeros: the same text for 0.001, 0.0010 and 1e-3. */
export function plainText({ digits, scale }: Decimal): string {
  const sign = digits < 0n ? '-' : '';
  const text = (digits < 0n ? -digits : digits).toString().padStart(scale + 1, '0');
  const whole = text.slice(0, text.length - scale);
  const fraction = text.slice(text.length - scale).replace(/0+$/, '');
  return sign + (fraction === '' ? whole : `${whole}.${fraction}`);
}

/** Rounds up to `decimals` decimals, so that no price is too low. */
export function roundUp(decimal: Decimal, decimals: number): Decimal {
  const { digits, scale } = decimal;
  if (scale <= decimals) return decimal;
  const unit = 10n ** BigInt(scale - decimals);
  return { digits: (digits + unit - 1n) / unit, scale: decimals };
}

/** Adds two decimals exactly. */
export function plus(one: Decimal, other: Decimal): Decimal {
  const scale = Math.max(one.scale, other.scale);
  const at = ({ digits, scale: own }: Decimal) => digits * 10n ** BigInt(scale - own);
  return { digits: at(one) + at(other), scale };
}

/** Multiplies a decimal by a whole number. */
export const times = ({ digits, scale }: Decimal, factor: bigint): Decimal => ({ digits: digits * factor, scale });
