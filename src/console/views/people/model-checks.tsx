import { useState } from 'preact/hooks';
import { useResource } from '../../api/resource.ts';
import { Button } from '../../design/button.tsx';
import { Checks, Field } from '../../design/field.tsx';

/** How many boxes are rendered at once, because a policy with wildcards has hundreds of models. */
const SHOWN_MAX = 24;

interface ModelChecksProps {
  readonly label: string;
  /** Model IDs, and wildcard patterns such as `openrouter/*`. */
  readonly values: readonly string[];
  onValues(values: readonly string[]): void;
  /** The meaning of no checked box: "the team may use every model". */
  readonly none: string;
  /** The meaning of checked boxes: "the use of all other models is not allowed". */
  readonly some: string;
  readonly error: string | null;
}

/** A choice of models and wildcards. The viewer can add a model that is not listed, such as a model of a wildcard, by its name. */
export function ModelChecks({ label, values, onValues, none, some, error }: ModelChecksProps) {
  const [find, setFind] = useState('');
  // The models that were checked when the form was opened come first. The order does not change after the first display, so that a box does
  // not move when it is checked.
  const [chosen, setChosen] = useState(values);
  const list = useResource('/admin/models');
  // Model lists do not apply to aliases and selectors, so they are left out.
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
      label={label}
      options={found.slice(0, SHOWN_MAX).map((value) => ({ value, label: value }))}
      values={values}
      onValues={onValues}
      hint={values.length === 0 ? `No model is checked: ${none}.` : `${values.length} checked: ${some}.`}
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
