import { useEffect, useState } from 'preact/hooks';
import { useResource } from '../api/resource.ts';
import { amountProblem, amountToSend, creditsToSend } from '../design/amount.ts';
import { Field } from '../design/field.tsx';
import { exactCredits } from '../design/written.tsx';

/** How long a text must stay unchanged before the server converts it, in ms. */
const SETTLED_MS = 150;

/** A typed amount, as the server converts it. */
interface ConvertedAmount {
  /** Null until the server has converted the text, and for a text that is not an amount. */
  readonly credits: number | null;
  /** Why the text is not an amount; null if it is one, or empty. */
  readonly problem: string | null;
  readonly isUnderWay: boolean;
}

/** Converts a typed amount to Credits. A number without a unit is in USD. */
function useAmount(text: string): ConvertedAmount {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const amount = amountToSend(settled);
  const isWanted = amount !== '' && amountProblem(settled) === null;
  const { data, failure, isLoading } = useResource('/admin/amount', { amount }, { isWanted });
  const problem = amountProblem(text);
  if (text.trim() === '' || problem !== null) return { credits: null, problem, isUnderWay: false };
  if (text !== settled || (isLoading && !failure)) return { credits: null, problem: null, isUnderWay: true };
  return { credits: data?.credits ?? null, problem: failure?.message ?? null, isUnderWay: false };
}

/** The number of Credits that a request states for a typed amount, see `creditsToSend`. */
export function useCreditsToSend(text: string) {
  const { credits, isUnderWay } = useAmount(text);
  const sent = creditsToSend(text, credits);
  return { sent, isUnderWay: isUnderWay && typeof sent === 'string' };
}

interface AmountFieldProps {
  readonly label: string;
  readonly value: string;
  onValue(value: string): void;
  readonly error?: string | null | undefined;
  readonly placeholder?: string | undefined;
  /** A sentence after the amount in Credits. */
  readonly hint?: string | undefined;
}

/**
 * A field for an amount in USD that shows the amount in Credits under it. Amounts such as `20,000 Credits` are also accepted.
 * @example <AmountField label="Limit" value={limit} onValue={setLimit} />
 */
export function AmountField({ label, value, hint, error, ...field }: AmountFieldProps) {
  const { credits, problem } = useAmount(value);
  const note = [problem ?? (credits === null ? null : `= ${exactCredits(credits)}`), hint].filter(Boolean).join('. ');
  return (
    <Field
      {...field}
      label={`${label} in USD`}
      value={value}
      inputMode="decimal"
      hint={note || undefined}
      // The server sees some amounts as Credits only, so it cannot say what is wrong with a text.
      error={error ? (problem ?? error) : error}
    />
  );
}
