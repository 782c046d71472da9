import type { ApiFailure } from '../../api/failure.ts';
import { useResource } from '../../api/resource.ts';
import { Field, Select } from '../../design/field.tsx';
import { AmountField } from '../../kit/amount-field.tsx';
import { DIALECTS, type Dialect, type Draft } from './body.ts';
import type { Controls } from './controls.ts';
import { Dials } from './dials.tsx';

const DIALECT_NAMES = Object.keys(DIALECTS) as Dialect[];

interface ComposerProps {
  readonly text: string;
  onText(text: string): void;
  readonly draft: Draft;
  readonly controls: Controls;
  onControls(part: Partial<Controls>): void;
  /** The failure of the decision or the answer. The field that caused the failure is marked. */
  readonly failure: ApiFailure | null;
}

/** The form for a request: its text, its dialect, and the settings that affect the choice of a model. */
export function Composer({ text, onText, draft, controls, onControls, failure }: ComposerProps) {
  const models = useResource('/admin/models');
  // A request can name a model of a wildcard, but not the wildcard.
  const listed = models.data?.data.flatMap(({ id, pattern }) => (pattern === id ? [] : [id])) ?? [];
  const names = listed.includes(controls.model) ? listed : [controls.model, ...listed];
  const selectors = new Set(models.data?.data.filter(({ owned_by }) => owned_by === 'signalbox').map(({ id }) => id));
  const at = placeOfFailure(failure);
  const errorAt = (place: ReturnType<typeof placeOfFailure>) => (at === place ? failure?.message : null);
  return (
    <div class="stack playground-composer">
      <div class="playground-fields">
        <h2>Request</h2>
        <Select
          label="Dialect"
          value={controls.dialect}
          onValue={(dialect) => onControls({ dialect })}
          options={DIALECT_NAMES.map((dialect) => ({ value: dialect, label: DIALECTS[dialect].label }))}
          hint={draft.kind === 'body' ? 'Recognised from the request body below.' : undefined}
        />
        <Field
          label="Prompt, or a complete request body"
          value={text}
          onValue={onText}
          rows={8}
          placeholder={'Write a prompt, or paste a request body: { "model": "auto", "messages": […] }'}
          error={textError(draft, at === 'text' ? failure : null, text)}
        />
      </div>
      <Select
        label="Selector or model"
        value={controls.model}
        onValue={(model) => onControls({ model })}
        options={names.map((name) => ({ value: name, label: selectors.has(name) ? `${name} (selector)` : name }))}
        error={errorAt('model')}
      />
      <Dials
        shares={controls.shares}
        isPinned={models.data !== null && !selectors.has(controls.model)}
        onShares={(shares) => onControls({ shares })}
      />
      {errorAt('weights') && <p class="field-error">{errorAt('weights')}</p>}
      <fieldset class="playground-ceilings">
        <legend>Ceilings of this request</legend>
        <AmountField
          label="Cost"
          placeholder="none"
          value={controls.costMax}
          onValue={(costMax) => onControls({ costMax })}
          error={errorAt('cost')}
        />
        <Field
          label="Time, s"
          inputMode="decimal"
          placeholder="none"
          value={controls.maxSeconds}
          onValue={(maxSeconds) => onControls({ maxSeconds })}
          error={errorAt('time')}
        />
        <AmountField
          label="Spend"
          placeholder="none"
          value={controls.budget}
          onValue={(budget) => onControls({ budget })}
          error={errorAt('budget')}
        />
      </fieldset>
    </div>
  );
}

/** The control that a failure is about; `text` for a field of the body, null if it names no field. */
export function placeOfFailure(failure: ApiFailure | null) {
  const field = failure?.field?.replace(/^(?:request|body)\./, '');
  if (field === undefined || field === 'key') return null;
  if (field === 'model') return 'model';
  if (field.startsWith('route_strategy')) return 'weights';
  if (field.startsWith('budget_limit')) return 'budget';
  if (field.startsWith('constraints.max_cost_credits')) return 'cost';
  if (field.startsWith('constraints.max_latency_ms')) return 'time';
  return 'text';
}

function textError(draft: Draft, failure: ApiFailure | null, text: string): string | null {
  if (draft.kind === 'broken') return `This is not valid JSON yet: ${draft.message}`;
  if (!failure) return null;
  const line = draft.kind === 'body' && failure.field ? lineOf(text, failure.field) : null;
  return `${failure.field}${line === null ? '' : ` (line ${line})`}: ${failure.message}`;
}

/** The line where the last name of a path first appears; null if the text does not contain the name. */
export function lineOf(text: string, path: string): number | null {
  const names = path.split(/[.[\]]+/).filter((name) => name !== '' && !/^\d+$/.test(name));
  let at = 0;
  for (const name of names) {
    const found = text.indexOf(JSON.stringify(name), at);
    if (found < 0) break;
    at = found + 1;
  }
  return at === 0 ? null : text.slice(0, at).split('\n').length;
}
