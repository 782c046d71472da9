import type { Decimal } from '../core/decimal.ts';

/** A decimal in plain notation without trailing zeros: the same text for 0.001, 0.0010 and 1e-3. */
export function plainText({ digits, scale }: Decimal): string {
  const sign = digits < 0n ? '-' : '';
  const text = (digits < 0n ? -digits : digits).toString().padStart(scale + 1, '0');
  const whole = text.slice(0, text.length - scale);
  const fraction = text.slice(text.length - scale).replace(/0+$/, '');
  return sign + (fraction === '' ? whole : `${whole}.${fraction}`);
}

/** A decimal as an exact whole number of units of 10^-`decimals`; null if it has more decimals. */
export function inUnitsOf(decimals: number, decimal: Decimal): number | null {
  const [whole = '', fraction = ''] = plainText(decimal).split('.');
  return fraction.length > decimals ? null : Number(whole + fraction.padEnd(decimals, '0'));
}
