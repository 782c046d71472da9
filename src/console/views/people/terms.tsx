import type { ExhaustedAction, WindowKind } from '../../../core/money/budget.ts';
import { Button } from '../../design/button.tsx';
import { Field, Select } from '../../design/field.tsx';
import { AmountField } from '../../kit/amount-field.tsx';
import { type Option, optionsOf } from '../../kit/draft.ts';
import type { FormPart, InputProps } from '../../kit/field.ts';
import { BUDGETS, LIMITS, MODELS, NEW_BUDGET, type Texts } from './coders.ts';
import { ModelChecks } from './model-checks.tsx';

const WINDOWS: Readonly<Record<WindowKind, string>> = {
  day: 'Each day',
  week: 'Each week',
  month: 'Each month',
  total: 'In total',
  every: 'Each period',
};
const WHEN_SPENT: Readonly<Record<ExhaustedAction, string>> = {
  cap: 'Shorten answers',
  reject: 'Refuse requests',
  downgrade: 'Use cheaper models',
};

const modelsInput =
  (some: string) =>
  ({ field, value, set, errorAt }: InputProps<readonly string[]>) => (
    <ModelChecks
      label={field.label}
      values={value}
      onValues={set}
      none={field.hint ?? ''}
      some={some}
      error={errorAt()}
    />
  );
const ModelsInput = modelsInput('all other models are refused');
const DeniedModelsInput = modelsInput('these models are refused, also if another list allows them');

/** The field for the models that a key may not use. */
export const DENIED_MODELS: FormPart = {
  of: 'not_models',
  label: 'Denied models',
  hint: 'the key may use all models that its other terms allow',
  kind: { ...MODELS, Input: DeniedModelsInput },
};

const LIMIT_LABELS = {
  requests_per_minute: 'Requests a minute',
  tokens_per_minute: 'Tokens a minute',
  concurrent_streams: 'Streams at once',
};

const LimitsInput = ({ value, set, errorAt }: InputProps<Texts>) => (
  <div class="people-three">
    {Object.entries(LIMIT_LABELS).map(([name, label]) => (
      <Field
        key={name}
        label={label}
        inputMode="numeric"
        value={value[name] ?? ''}
        onValue={(text) => set({ ...value, [name]: text })}
        error={errorAt(`.${name}`)}
      />
    ))}
  </div>
);

interface BudgetPart {
  readonly of: string;
  readonly label: string;
  readonly options?: readonly Option[];
  readonly isAmount?: true;
}
const BUDGET: readonly BudgetPart[] = [
  { of: 'limit_credits', label: 'Limit', isAmount: true },
  { of: 'window', label: 'Window', options: optionsOf(WINDOWS) },
  { of: 'time_zone', label: 'Time zone' },
  { of: 'on_exhausted', label: 'When spent', options: optionsOf(WHEN_SPENT) },
];
/** Only a budget that has an end shows this field. */
const UNTIL: BudgetPart = { of: 'until', label: 'Ends at' };
const BudgetsInput = ({ value, set, errorAt }: InputProps<readonly Texts[]>) => (
  <fieldset class="people-budgets">
    <legend class="field-label">Budgets</legend>
    {value.map((budget, at) => (
      <div key={at} class="people-budget">
        {(budget.until ? [...BUDGET, UNTIL] : BUDGET).map(({ of, label, options, isAmount }) => {
          const shared = {
            label,
            value: budget[of] ?? '',
            error: errorAt(`[${at}].${of}`),
            onValue: (text: string) => set(value.with(at, { ...budget, [of]: text })),
          };
          const open = budget.every ? options : options?.filter(({ value }) => value !== 'every');
          if (open) return <Select key={of} {...shared} options={open} />;
          return isAmount ? <AmountField key={of} {...shared} /> : <Field key={of} {...shared} />;
        })}
        <Button kind="plain" aria-label={`Remove budget ${at + 1}`} onClick={() => set(value.toSpliced(at, 1))}>
          Remove
        </Button>
      </div>
    ))}
    {errorAt() ? (
      // The error of a single budget is also shown at the field of the budget.
      <p class="field-error">{errorAt()}</p>
    ) : (
      value.length === 0 && <p class="small dim">There is no budget here. Budgets of the levels above apply.</p>
    )}
    <div>
      <Button onClick={() => set([...value, NEW_BUDGET])}>Add budget</Button>
    </div>
  </fieldset>
);

/**
 * The fields for models, rate limits and budgets of a key, a person, a team or its members.
 * @param none the meaning of an empty model list: "the team may use every model"
 * @param at the path of the object that contains the fields, with a dot
 */
export const termsParts = (none: string, at = ''): readonly FormPart[] => [
  { of: `${at}models`, label: 'Models', hint: none, kind: { ...MODELS, Input: ModelsInput } },
  { of: `${at}limits`, label: 'Rate limits', kind: { ...LIMITS, Input: LimitsInput } },
  { of: `${at}budgets`, label: 'Budgets', kind: { ...BUDGETS, Input: BudgetsInput } },
];
