import { amountNote, amountProblem } from '../design/amount.ts';
import { Field } from '../design/field.tsx';
import { viewerTerms } from '../shell/session.ts';

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
  const terms = viewerTerms();
  const note = [amountNote(value, terms), hint].filter(Boolean).join('. ');
  // The server sees some amounts as Credits only, so it cannot say what is wrong with a text.
  const problem = error ? (amountProblem(value, terms) ?? error) : error;
  return (
    <Field
      {...field}
      label={`${label} in USD`}
      value={value}
      inputMode="decimal"
      hint={note || undefined}
      error={problem}
    />
  );
}
