import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { read, send } from '../../api/client.ts';
import type { ApiFailure } from '../../api/failure.ts';
import type { ReadOf, ReadPath } from '../../api/reads.ts';
import { Button } from '../../design/button.tsx';
import { useDraft } from '../../design/draft.ts';
import { Failure, Skeleton } from '../../design/states.tsx';
import { renewPeople } from './deeds.ts';
import { type Difference, differences, pathWords } from './differences.ts';
import { rebased } from './drafts.ts';

/** The message for a field of a body, by its path; null for none. */
export type ErrorAt = (path: string) => string | null;

interface FormProps<Draft extends object, Answer> {
  readonly first: Draft;
  /** The members of the body that differ; none changes nothing. */
  bodyOf(draft: Draft): Readonly<Record<string, unknown>>;
  readonly method: 'POST' | 'PATCH';
  readonly path: string;
  readonly etag?: string | null;
  /** The verb and the object: "Make key". */
  readonly action: string;
  /** Paths of fields that show their own messages. */
  readonly known: readonly string[];
  readonly children: (draft: Draft, set: (part: Partial<Draft>) => void, errorAt: ErrorAt) => ComponentChildren;
  readonly above?: ComponentChildren;
  /** What happens with the draft where somebody else was faster. */
  onStale?(draft: Draft): void;
  onDone(answer: Answer | null): void;
  onClose(): void;
}

const isAt = (path: string, field: string | null): boolean =>
  field !== null && (field === path || field.startsWith(`${path}[`) || field.startsWith(`${path}.`));

/** A form whose refusals are shown at their fields. The draft lives here alone until it is sent. */
export function DraftForm<Draft extends object, Answer>(props: FormProps<Draft, Answer>) {
  const { first, bodyOf, method, path, etag = null, action, known, children, above } = props;
  const [draft, setDraft] = useDraft(first);
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  const [isBusy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (failure) form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus();
  }, [failure]);
  const submit = async () => {
    const body = bodyOf(draft);
    if (method === 'PATCH' && Object.keys(body).length === 0) return props.onDone(null);
    setBusy(true);
    const result = await send<Answer>(method, path, { body, ...(etag !== null && { headers: { 'if-match': etag } }) });
    setBusy(false);
    if (result.ok) {
      renewPeople();
      return props.onDone(result.value);
    }
    setFailure(result.failure);
    if (result.failure.status === 412) props.onStale?.(draft);
  };
  const errorAt: ErrorAt = (at) => (failure && isAt(at, failure.field) ? failure.message : null);
  const isElsewhere = failure !== null && failure.status !== 412 && !known.some((at) => isAt(at, failure.field));
  return (
    <form
      ref={form}
      class="people-form"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {above}
      {children(draft, (part) => setDraft((now) => ({ ...now, ...part })), errorAt)}
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

interface ChangeProps<Path extends ReadPath, Draft extends object> {
  /** A noun: "This key". */
  readonly what: string;
  readonly path: Path;
  draftOf(value: ReadOf<Path>): Draft;
  bodyOf(draft: Draft, before: Draft): Readonly<Record<string, unknown>>;
  readonly known: readonly string[];
  readonly children: FormProps<Draft, unknown>['children'];
  onDone(): void;
  onClose(): void;
}

interface Version<Value, Draft> {
  readonly value: Value;
  readonly etag: string | null;
  /** What the form begins with. */
  readonly first: Draft;
  /** What somebody else has changed since it was opened. */
  readonly moved: readonly Difference[];
}

/** Changes something that exists, on condition that it is what the form began from. Where somebody was faster, it shows what came between. */
export function ChangeForm<Path extends ReadPath, Draft extends object>(props: ChangeProps<Path, Draft>) {
  const { what, path, draftOf, bodyOf, known, children, onDone, onClose } = props;
  const [version, setVersion] = useState<Version<ReadOf<Path>, Draft> | null>(null);
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const control = new AbortController();
    read(path, {}, control.signal).then(
      (result) => {
        if (!result.ok) return setFailure(result.failure);
        setFailure(null);
        setVersion({ value: result.value, etag: result.etag, first: draftOf(result.value), moved: [] });
      },
      () => {},
    );
    return () => control.abort();
  }, [path, turn]);
  if (failure) return <Failure what={what} failure={failure} onRetry={() => setTurn((now) => now + 1)} />;
  if (!version) return <Skeleton rows={6} />;
  const before = draftOf(version.value);
  const stale = async (draft: Draft) => {
    const result = await read(path);
    if (!result.ok) return setFailure(result.failure);
    const { value, etag } = result;
    // Of what the form has: figures change by use, and not by hand.
    const moved = differences(before, draftOf(value));
    setVersion({ value, etag, first: rebased(draft, before, draftOf(value)), moved });
  };
  return (
    <DraftForm
      first={version.first}
      bodyOf={(draft) => bodyOf(draft, before)}
      method="PATCH"
      path={path}
      etag={version.etag}
      action="Save changes"
      known={known}
      onStale={(draft) => void stale(draft)}
      onDone={onDone}
      onClose={onClose}
      above={version.moved.length > 0 && <Moved what={what} moved={version.moved} />}
    >
      {children}
    </DraftForm>
  );
}

const Moved = ({ what, moved }: { readonly what: string; readonly moved: readonly Difference[] }) => (
  <div class="notice people-moved" role="alert">
    <p>
      {what} was changed by somebody else meanwhile. Nothing was saved; your own edits are still in the form. Save again
      to make them on top of this:
    </p>
    <DifferenceList of={moved} />
  </div>
);

/** Differences, each with both sides. */
export const DifferenceList = ({ of }: { readonly of: readonly Difference[] }) => (
  <dl class="people-differences">
    {of.map(({ path, before, after }) => (
      <div key={path}>
        <dt>{pathWords(path)}</dt>
        <dd>
          {before !== null && (
            <del>
              <span class="unseen">before: </span>
              {before}
            </del>
          )}
          {after !== null && (
            <ins>
              <span class="unseen">after: </span>
              {after}
            </ins>
          )}
        </dd>
      </div>
    ))}
  </dl>
);
