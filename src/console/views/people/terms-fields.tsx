import type { ExhaustedAction, WindowKind } from '../../../core/budget.ts';
import { Button } from '../../design/button.tsx';
import { Field, Select } from '../../design/field.tsx';
import { type BudgetForm, NEW_BUDGET, type TermsForm } from './drafts.ts';
import type { ErrorAt } from './form.tsx';
import { ModelChecks } from './model-checks.tsx';

/** The paths of these fields in a body. */
export const TERMS_KNOWN = ['models', 'limits', 'budgets'];

const WINDOWS: readonly { value: WindowKind; label: string }[] = [
  { value: 'day', label: 'Each day' },
  { value: 'week', label: 'Each week' },
  { value: 'month', label: 'Each month' },
  { value: 'total', label: 'In total' },
];
const THEN: readonly { value: ExhaustedAction; label: string }[] = [
  { value: 'cap', label: 'Shorten answers' },
  { value: 'reject', label: 'Refuse' },
  { value: 'downgrade', label: 'Use cheaper models' },
];

interface TermsProps {
  readonly draft: TermsForm;
  set(part: Partial<TermsForm>): void;
  /** By paths of `TERMS_KNOWN`. */
  readonly errorAt: ErrorAt;
  /** What no models mean: "the team may use every model". */
  readonly none: string;
}

/** Models, rate limits and budgets: of a key, a person, a team or its members. */
export function TermsFields({ draft, set, errorAt, none }: TermsProps) {
  const budget = (at: number, part: Partial<BudgetForm>) =>
    set({ budgets: draft.budgets.map((one, place) => (place === at ? { ...one, ...part } : one)) });
  return (
    <>
      <ModelChecks values={draft.models} onValues={(models) => set({ models })} none={none} error={errorAt('models')} />
      <div class="people-three">
        <Field
          label="Requests a minute"
          inputMode="numeric"
          value={draft.requests}
          onValue={(requests) => set({ requests })}
          error={errorAt('limits.requests_per_minute')}
        />
        <Field
          label="Tokens a minute"
          inputMode="numeric"
          value={draft.tokens}
          onValue={(tokens) => set({ tokens })}
          error={errorAt('limits.tokens_per_minute')}
        />
        <Field
          label="Streams at once"
          inputMode="numeric"
          value={draft.streams}
          onValue={(streams) => set({ streams })}
          error={errorAt('limits.concurrent_streams')}
        />
      </div>
      <fieldset class="people-budgets">
        <legend class="field-label">Budgets</legend>
        {draft.budgets.map((one, at) => (
          <div key={at} class="people-budget">
            <Field
              label="Credits"
              inputMode="decimal"
              value={one.limit}
              onValue={(limit) => budget(at, { limit })}
              error={errorAt(`budgets[${at}].limit_credits`)}
            />
            <Select
              label="Window"
              value={one.window}
              options={WINDOWS}
              onValue={(window) => budget(at, { window })}
              error={errorAt(`budgets[${at}].window`)}
            />
            <Field
              label="Time zone"
              value={one.zone}
              onValue={(zone) => budget(at, { zone })}
              error={errorAt(`budgets[${at}].time_zone`)}
            />
            <Select
              label="When spent"
              value={one.onExhausted}
              options={THEN}
              onValue={(onExhausted) => budget(at, { onExhausted })}
            />
            <Button
              kind="plain"
              aria-label={`Remove budget ${at + 1}`}
              onClick={() => set({ budgets: draft.budgets.filter((_, place) => place !== at) })}
            >
              Remove
            </Button>
          </div>
        ))}
        <Budgetless error={errorAt('budgets')} isOwn={draft.budgets.length > 0} />
        <div>
          <Button onClick={() => set({ budgets: [...draft.budgets, NEW_BUDGET] })}>Add budget</Button>
        </div>
      </fieldset>
    </>
  );
}

/** A refusal of the list as a whole. Those of one budget stand at its field, too. */
const Budgetless = ({ error, isOwn }: { readonly error: string | null; readonly isOwn: boolean }) =>
  error ? (
    <p class="field-error">{error}</p>
  ) : isOwn ? null : (
    <p class="small dim">None of its own. Those of the levels above apply.</p>
  );
