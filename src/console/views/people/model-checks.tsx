import { useState } from 'preact/hooks';
import { useResource } from '../../api/resource.ts';
import { Button } from '../../design/button.tsx';
import { Checks, Field } from '../../design/field.tsx';

/** Boxes that are drawn at once: a policy with wildcards has hundreds of models. */
const SHOWN_MAX = 24;

interface ModelChecksProps {
  /** IDs of models, and patterns of wildcards such as `openrouter/*`; none stands for all. */
  readonly values: readonly string[];
  onValues(values: readonly string[]): void;
  /** What none checked means: "the team may use every model". */
  readonly none: string;
  readonly error: string | null;
}

/** A choice of models and wildcards. What the viewer cannot list, such as a model of a wildcard, is added by its name. */
export function ModelChecks({ values, onValues, none, error }: ModelChecksProps) {
  const [find, setFind] = useState('');
  // They stand first, where they were when the form was opened: a box must not move when it is checked.
  const [chosen, setChosen] = useState(values);
  const list = useResource('/admin/models');
  // Aliases and selectors are always open: lists name models.
  const listed = (list.data?.data ?? []).flatMap(({ id, owned_by, display_name }) =>
    owned_by === 'signalbox' || display_name !== id ? [] : [id],
  );
  const names = [...new Set([...chosen, ...listed, ...values])];
  const wanted = find.trim().toLowerCase();
  const found = names.filter((name) => name.toLowerCase().includes(wanted));
  const isNew = wanted !== '' && !names.some((name) => name.toLowerCase() === wanted);
  const add = (name: string) => {
    if (!names.includes(name)) setChosen([...chosen, name]);
    onValues([...new Set([...values, name])]);
    setFind('');
  };
  return (
    <Checks
      label="Models"
      options={found.slice(0, SHOWN_MAX).map((value) => ({ value, label: value }))}
      values={values}
      onValues={onValues}
      hint={
        values.length === 0 ? `No model is checked: ${none}.` : `${values.length} checked: no other model may be used.`
      }
      error={error}
    >
      {/* biome-ignore lint/a11y/noStaticElementInteractions: Enter in the field must not send the form */}
      <div
        class="people-find"
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || !(event.target instanceof HTMLInputElement)) return;
          event.preventDefault();
          if (found.length === 1 && found[0] !== undefined) add(found[0]);
          else if (isNew && found.length === 0) add(find.trim());
        }}
      >
        <Field
          isBare
          type="search"
          label="Find or add a model"
          placeholder="Find or add a model"
          value={find}
          onValue={setFind}
        />
        {isNew && <Button onClick={() => add(find.trim())}>Add {find.trim()}</Button>}
      </div>
      {found.length > SHOWN_MAX && (
        <p class="small dim">
          {SHOWN_MAX} of {found.length} are shown. Type a part of the name to see others.
        </p>
      )}
    </Checks>
  );
}
