import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { read, send } from '../api/client.ts';
import type { ApiFailure } from '../api/failure.ts';
import type { ReadPath } from '../api/reads.ts';
import { Button } from '../design/button.tsx';
import { useDraft } from '../design/draft.ts';
import { Field, Select } from '../design/field.tsx';
import { Failure, Skeleton } from '../design/states.tsx';
import { renewChanged } from './actions.tsx';
import { DifferenceList } from './difference-list.tsx';
import { type Difference, differences } from './differences.ts';
import { bodyOf, type Draft, draftOf, fieldsOf, newDraft, rebased } from './draft.ts';
import type { FoldedFields, FormField, FormPart, InputProps } from './field.ts';

interface FormProps {
  readonly parts: readonly FormPart[];
  readonly first: Draft;
  /** The stored values. The form sends only members that differ from the stored values. */
  readonly before: Draft;
  readonly method: 'POST' | 'PATCH';
  readonly path: string;
  readonly etag?: string | null;
  /** The verb and the object: "Create key". */
  readonly action: string;
  readonly above?: ComponentChildren;
  /** Called with the draft if another change was saved first. */
  onStale?(draft: Draft): void;
  /** @param answer null if nothing was changed */
  onDone(answer: unknown): void;
  onClose(): void;
}

const isAt = (path: string, field: string | null): boolean =>
  field !== null && (field === path || field.startsWith(`${path}[`) || field.startsWith(`${path}.`));

/** A form that shows a refusal at its field. Until the form is sent, only the form has the draft. */
function Form({ parts, first, before, method, path, etag = null, action, above, ...props }: FormProps) {
  const [draft, setDraft] = useDraft(first);
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  const [isBusy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (failure) form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus();
  }, [failure]);
  const submit = async () => {
    const body = bodyOf(parts, draft, before);
    if (method === 'PATCH' && Object.keys(body).length === 0) return props.onDone(null);
    setBusy(true);
    const result = await send(method, path, { body, ...(etag !== null && { headers: { 'if-match': etag } }) });
    setBusy(false);
    if (result.ok) {
      renewChanged();
      return props.onDone(result.value);
    }
    setFailure(result.failure);
    if (result.failure.status === 412) props.onStale?.(draft);
  };
  const set = (part: Draft) => setDraft((now) => ({ ...now, ...part }));
  const isElsewhere =
    failure !== null && failure.status !== 412 && !fieldsOf(parts).some(({ of }) => isAt(of, failure.field));
  const shared = { draft, set, failure };
  return (
    <form
      ref={form}
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {above}
      {parts.map((part, at) => (
        <FormLine key={keyOf(part, at)} part={part} {...shared} />
      ))}
      {isElsewhere && (
        <p class="notice notice-bad" role="alert">
          {failure.message}
        </p>
      )}
      <div class="row">
        <Button kind="first" type="submit" disabled={isBusy}>
          {action}
        </Button>
        <Button kind="plain" onClick={props.onClose}>
          Cancel
        </Button>
      </div>
    </form>
  );
}

const keyOf = (part: FormPart, at: number): string | number =>
  typeof part === 'object' && 'of' in part ? part.of : at;

function FormLine({ part, ...shared }: Omit<FormInputProps, 'field'> & { readonly part: FormPart }) {
  if (typeof part === 'string') return <h3>{part}</h3>;
  if ('more' in part) return <FoldedLines of={part} {...shared} />;
  if ('of' in part) return part.isHidden ? null : <FormInput field={part} {...shared} />;
  const shown = part.filter(({ isHidden }) => !isHidden);
  if (shown.length === 0) return null;
  return (
    <div class="columns">
      {shown.map((field) => (
        <FormInput key={field.of} field={field} {...shared} />
      ))}
    </div>
  );
}

/** Folded fields, which open if the server refuses one of them. */
function FoldedLines({ of, ...shared }: Omit<FormInputProps, 'field'> & { readonly of: FoldedFields }) {
  const [isOpen, setOpen] = useState(of.isOpen);
  const isRefused = fieldsOf(of.parts).some((field) => isAt(field.of, shared.failure?.field ?? null));
  return (
    <details class="form-more" open={isOpen || isRefused} onToggle={({ currentTarget: { open } }) => setOpen(open)}>
      <summary>{of.more}</summary>
      <div class="form">
        {of.parts.map((part, at) => (
          <FormLine key={keyOf(part, at)} part={part} {...shared} />
        ))}
      </div>
    </details>
  );
}

interface FormInputProps {
  readonly field: FormField;
  readonly draft: Draft;
  set(part: Draft): void;
  readonly failure: ApiFailure | null;
}

function FormInput({ field, draft, set, failure }: FormInputProps) {
  const { of, kind, sets } = field;
  const Input = kind?.Input ?? TextInput;
  return (
    <Input
      {...{ field, draft, value: draft[of] }}
      set={(value) => set({ [of]: value, ...sets?.(value) })}
      errorAt={(part = '') => (failure && isAt(of + part, failure.field) ? failure.message : null)}
    />
  );
}

/** A text field, or a choice if the field has options. */
export function TextInput({ field, value, set, errorAt, draft }: InputProps<unknown>) {
  const { label, hint, options, placeholder, type, rows } = field;
  const shared = { label, hint, value: String(value), error: errorAt(), onValue: set };
  if (options) return <Select {...shared} options={typeof options === 'function' ? options(draft) : options} />;
  return <Field {...shared} placeholder={placeholder} type={type} rows={rows} />;
}

interface MakeProps extends Pick<FormProps, 'parts' | 'path' | 'action' | 'onDone' | 'onClose'> {
  /** Members that the page's address sets. */
  readonly stated?: Draft;
}

/**
 * Creates an item. The form sends what the viewer typed, what the address sets and the initial values.
 * @example <MakeForm
 *   path="/admin/teams"
 *   action="Create team"
 *   parts={[{ of: 'name', label: 'Name' }, 'Each member', { of: 'member_defaults.models', label: 'Models', kind: MODELS }]}
 *   onDone={close}
 *   onClose={close} />
 */
export function MakeForm({ stated, ...props }: MakeProps) {
  const [first] = useState({ ...newDraft(props.parts), ...stated });
  return <Form {...props} method="POST" first={first} before={draftOf(props.parts, null)} />;
}

interface ChangeProps<Path extends ReadPath> extends Pick<FormProps, 'onClose'> {
  /** "This key". */
  readonly what: string;
  readonly path: Path;
  readonly parts: readonly FormPart[];
  onDone(): void;
}

interface Version {
  readonly value: unknown;
  readonly etag: string | null;
  /** The initial values of the form. */
  readonly first: Draft;
  /** The fields that another change has altered since the form was opened. */
  readonly moved: readonly Difference[];
}

/**
 * Changes an existing item if no other change was saved since the form was opened (`If-Match`). If another change was saved first, the
 * form shows that change, keeps what was typed, and sends nothing until the viewer saves again.
 * @example <ChangeForm what="This team" path={`/admin/teams/${id}`} parts={PARTS} onDone={close} onClose={close} />
 */
export function ChangeForm<Path extends ReadPath>({ what, path, parts, onDone, onClose }: ChangeProps<Path>) {
  const [version, setVersion] = useState<Version | null>(null);
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  const [turn, setTurn] = useState(0);
  /** @param draft what the viewer typed into an older version */
  const load = async (draft: Draft | null, signal?: AbortSignal) => {
    const result = await read<Path>(path, {}, signal).catch(() => null);
    if (result === null) return;
    if (!result.ok) return setFailure(result.failure);
    setFailure(null);
    const now = draftOf(parts, result.value);
    const before = version && draftOf(parts, version.value);
    setVersion({
      value: result.value,
      etag: result.etag,
      first: draft && before ? rebased(draft, before, now) : now,
      // Only the members of the form are compared, because other members, such as usage, change all the time.
      moved: draft && before ? differences(before, now) : [],
    });
  };
  useEffect(() => {
    const control = new AbortController();
    void load(null, control.signal);
    return () => control.abort();
  }, [path, turn]);
  if (failure) return <Failure what={what} failure={failure} onRetry={() => setTurn((now) => now + 1)} />;
  if (!version) return <Skeleton rows={6} />;
  return (
    <Form
      {...{ parts, path, onDone, onClose }}
      method="PATCH"
      first={version.first}
      before={draftOf(parts, version.value)}
      etag={version.etag}
      action="Save changes"
      onStale={(draft) => void load(draft)}
      above={version.moved.length > 0 && <Moved what={what} moved={version.moved} />}
    />
  );
}

const Moved = ({ what, moved }: { readonly what: string; readonly moved: readonly Difference[] }) => (
  <div class="notice form-moved" role="alert">
    <p>
      {what} has changed since you opened this form. Nothing was saved, and your edits are still in the form. Save again
      to apply them on top of these changes:
    </p>
    <DifferenceList of={moved} />
  </div>
);
