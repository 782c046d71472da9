import { useEffect, useState } from 'preact/hooks';
import { exactTime, HOUR_MS, MINUTE_MS, NONE, relative, usd, type WrittenFigure } from './format.ts';

/** A figure that shows its exact value under the pointer. */
export const Written = ({ value }: { readonly value: WrittenFigure }) => (
  <span class="figure" title={value.exact === value.short ? undefined : value.exact}>
    {value.short}
  </span>
);

export interface MoneyProps {
  readonly usd: string | null;
  readonly credits: number | null;
}

/** An amount in USD that shows Credits under the pointer. Without a known worth of a Credit, it is an amount in Credits. */
export function moneyFigure({ usd: amount, credits }: MoneyProps): WrittenFigure {
  if (credits === null) return NONE;
  if (amount === null) return { short: creditsText(credits), exact: exactCredits(credits) };
  return { ...usd(amount), exact: bothExact(amount, credits) };
}

/** An amount in both units: `$0.0012 (1.2 Credits)`. */
export const bothText = ({
  usd: amount,
  credits,
}: {
  readonly usd: string | null;
  readonly credits: number;
}): string => (amount === null ? creditsText(credits) : `${usd(amount).short} (${creditsText(credits)})`);

export const Money = (of: MoneyProps) => <Written value={moneyFigure(of)} />;

const credit = new Intl.NumberFormat('en', { maximumFractionDigits: 6 });
const bothExact = (amount: string, credits: number): string => `${usd(amount).exact} · ${exactCredits(credits)}`;

/** Writes an amount of Credits with all its decimals. */
export const exactCredits = (credits: number): string => `${credit.format(credits)} ${creditsNoun(credits)}`;

const creditsNoun = (credits: number): string => (Math.abs(credits) === 1 ? 'Credit' : 'Credits');

/** Writes an amount of Credits: `12.3 Credits`. Amounts from 1,000 have four significant digits, smaller amounts have three. */
export const creditsText = (credits: number): string =>
  `${credits < 0 ? '−' : ''}${new Intl.NumberFormat('en', { maximumSignificantDigits: Math.abs(credits) >= 1_000 ? 4 : 3 }).format(Math.abs(credits))} ${creditsNoun(credits)}`;

/**
 * A relative time that shows the exact time under the pointer.
 * @param at ISO 8601
 */
export function When({ at }: { readonly at: string }) {
  const time = Date.parse(at);
  const [now, setNow] = useState(Date.now);
  const isNear = Math.abs(time - now) < HOUR_MS;
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), isNear ? 10_000 : MINUTE_MS);
    return () => clearInterval(timer);
  }, [isNear]);
  return (
    <time dateTime={at} title={exactTime(time)} class="nowrap">
      {relative(time, now)}
    </time>
  );
}

/** A sentence from the server with names in backticks, which are shown as code. */
export const Coded = ({ text }: { readonly text: string }) => (
  <>{text.split('`').map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}</>
);
