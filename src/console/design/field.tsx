import { type ComponentChildren, toChildArray } from 'preact';
import { useId, useState } from 'preact/hooks';
import { Coded } from './written.tsx';

interface FieldFrame {
  readonly label: string;
  /** A hint that describes valid values. */
  readonly hint?: string | undefined;
  /** Why the server refuses the value, in the words of the server. */
  readonly error?: string | null | undefined;
  /** Whether only screen readers get the label, because the page already shows what the field is for. */
  readonly isBare?: boolean;
}

interface FieldParts {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': boolean | undefined;
}

/** Adds the label, the hint and the error to a control. */
function Framed({
  label,
  hint,
  error,
  isBare,
  children,
}: FieldFrame & { readonly children: (parts: FieldParts) => ComponentChildren }) {
  const id = useId();
  const note = error || hint ? `${id}-note` : undefined;
  return (
    <div class="field">
      <label class={isBare ? 'unseen' : 'field-label'} for={id}>
        {label}
      </label>
      {children({ id, 'aria-describedby': note, 'aria-invalid': error ? true : undefined })}
      {error ? (
        <p class="field-error" id={note}>
          <Coded text={error} />
        </p>
      ) : hint ? (
        <p class="small dim" id={note}>
          {hint}
        </p>
      ) : null}
    </div>
  );
}

interface FieldProps extends FieldFrame {
  readonly type?: 'text' | 'password' | 'date' | 'email' | 'search' | 'number' | undefined;
  readonly value: string;
  onValue(value: string): void;
  readonly placeholder?: string | undefined;
  readonly isDisabled?: boolean;
  readonly inputMode?: 'numeric' | 'decimal' | undefined;
  /** The number of text lines. */
  readonly rows?: number | undefined;
}

/** A labelled field. */
export function Field({
  value,
  onValue,
  isDisabled,
  rows,
  inputMode,
  type = 'text',
  placeholder,
  ...frame
}: FieldProps) {
  const given = { class: 'input', placeholder, value, disabled: isDisabled };
  return (
    <Framed {...frame}>
      {(parts) =>
        rows === undefined ? (
          <input
            {...given}
            {...parts}
            // All types of this input take the same props.
            type={type as 'text'}
            autocomplete="off"
            inputMode={inputMode}
            spellcheck={false}
            onInput={(event) => onValue(event.currentTarget.value)}
          />
        ) : (
          <textarea {...given} {...parts} rows={rows} onInput={(event) => onValue(event.currentTarget.value)} />
        )
      }
    </Framed>
  );
}

interface SelectProps<Value extends string> extends FieldFrame {
  readonly value: Value;
  onValue(value: Value): void;
  readonly options: readonly { readonly value: Value; readonly label: string }[];
  readonly isDisabled?: boolean;
}

/** A labelled choice of one option. */
export function Select<Value extends string>({ value, onValue, options, isDisabled, ...frame }: SelectProps<Value>) {
  return (
    <Framed {...frame}>
      {(parts) => (
        <span class="select">
          <select
            class="input"
            {...parts}
            value={value}
            disabled={isDisabled}
            onChange={(event) => {
              const chosen = options.find((option) => option.value === event.currentTarget.value);
              if (chosen) onValue(chosen.value);
            }}
          >
            {options.map((option) => (
              <option key={option.value} value={option.value}>
                {option.label}
              </option>
            ))}
          </select>
        </span>
      )}
    </Framed>
  );
}

interface ChecksProps<Value extends string> {
  readonly label: string;
  readonly options: readonly { readonly value: Value; readonly label: string }[];
  readonly values: readonly Value[];
  onValues(values: readonly Value[]): void;
  readonly hint?: string;
  readonly error?: string | null | undefined;
  /** Content above the boxes, such as a field that filters them. */
  readonly children?: ComponentChildren;
}

/** A labelled choice of several options. */
export function Checks<Value extends string>({
  label,
  options,
  values,
  onValues,
  hint,
  error,
  children,
}: ChecksProps<Value>) {
  const id = useId();
  return (
    <fieldset class="field checks" aria-describedby={error || hint ? id : undefined}>
      <legend class="field-label">{label}</legend>
      {children}
      {options.map(({ value, label: text }) => (
        <label key={value} class="check">
          <input
            type="checkbox"
            checked={values.includes(value)}
            onChange={({ currentTarget: { checked } }) =>
              onValues(checked ? [...values, value] : values.filter((one) => one !== value))
            }
          />
          {text}
        </label>
      ))}
      {error ? (
        <p class="field-error" id={id}>
          {error}
        </p>
      ) : hint ? (
        <p class="small dim" id={id}>
          {hint}
        </p>
      ) : null}
    </fieldset>
  );
}

/**
 * The row of filters above a list. With `onClear`, it has a button that clears all filters. On a phone, several filters are hidden until the
 * viewer presses the button "Filters".
 */
export function Filters({
  children,
  onClear,
}: {
  readonly children: ComponentChildren;
  readonly onClear: (() => void) | null;
}) {
  const [isOpen, setOpen] = useState(false);
  const isFolded = toChildArray(children).length > 1;
  return (
    // biome-ignore lint/a11y/useSemanticElements: `search` is the element, which the types do not know
    <div class={isFolded && !isOpen ? 'filters is-folded' : 'filters'} role="search" aria-label="Filters">
      {isFolded && (
        <button type="button" class="button filters-fold" aria-expanded={isOpen} onClick={() => setOpen((now) => !now)}>
          {isOpen ? 'Hide filters' : onClear ? 'Filters (active)' : 'Filters'}
        </button>
      )}
      {children}
      {onClear && (
        <button type="button" class="button button-plain filters-clear" onClick={onClear}>
          Clear filters
        </button>
      )}
    </div>
  );
}
