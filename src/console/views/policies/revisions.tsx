import { useState } from 'preact/hooks';
import type { ReadOf } from '../../api/reads.ts';
import { useResource } from '../../api/resource.ts';
import { Button, ButtonLink } from '../../design/button.tsx';
import { LoadedCard } from '../../design/card.tsx';
import { Partial } from '../../design/states.tsx';
import { State, Tag } from '../../design/tag.tsx';
import { toast } from '../../design/toast.tsx';
import { When } from '../../design/written.tsx';
import { Listing } from '../../kit/listing.tsx';
import { go, param, setParams } from '../../shell/router.ts';
import { Code } from './code.tsx';
import { draft, type PolicyFiles, rebase } from './draft.ts';
import { diffHref, EDIT, RUNNING, revisionHref, shortOf } from './places.ts';

const IN_FORCE = <State tone="good">Active</State>;

/** The policies that were active, the newest first. */
export const RevisionsPage = ({ files }: { readonly files: PolicyFiles }) => (
  <Listing
    path="/admin/policy/revisions"
    what="Revisions"
    noun="revision"
    empty={['No revision is stored', 'The audit trail records each policy that becomes active.']}
    columns={({ rows }) => [
      {
        head: 'Revision',
        cell: ({ revision, until, is_stored }) => (
          <>
            <span class="mono">
              {is_stored ? <a href={revisionHref(revision)}>{shortOf(revision)}</a> : shortOf(revision)}
            </span>{' '}
            {until === null && IN_FORCE}
          </>
        ),
      },
      { head: 'Active since', phone: 'fact', cell: ({ from }) => <When at={from} /> },
      { head: 'Until', cell: ({ until }) => (until === null ? '–' : <When at={until} />) },
      {
        head: 'Cause',
        phone: 'second',
        cell: ({ cause, actor: { name } }) =>
          (cause === 'edit' ? 'edit of the files' : (cause ?? '–')) + (name === null ? '' : `, ${name}`),
      },
      { head: 'Compare', cell: (row) => comparisonsOf(row, rows[rows.indexOf(row) + 1], files.revision) },
    ]}
  />
);

type RevisionRow = ReadOf<'/admin/policy/revisions'>['data'][number];

const comparisonsOf = ({ revision, is_stored }: RevisionRow, before: RevisionRow | undefined, inForce: string) =>
  is_stored ? (
    <span class="row">
      {before?.is_stored === true && <a href={diffHref(before.revision, revision)}>With the previous revision</a>}
      {revision !== inForce && <a href={diffHref(revision, RUNNING)}>With the active policy</a>}
    </span>
  ) : (
    <Tag>text not stored</Tag>
  );

interface RevisionPageProps {
  readonly files: PolicyFiles;
  readonly revision: string;
  readonly mayEdit: boolean;
}

/** A stored policy and its files. */
export function RevisionPage({ files, revision, mayEdit }: RevisionPageProps) {
  const stored = useResource(`/admin/policy/revisions/${encodeURIComponent(revision)}`);
  const [chosen, setChosen] = useState(param('file'));
  return (
    <LoadedCard
      id="policies-revision"
      what="Revisions"
      of={stored}
      heading={({ revision: whole, is_in_force }) => (
        <>
          Revision {shortOf(whole)} {is_in_force && IN_FORCE}
        </>
      )}
      aside={({ revision: whole, is_in_force, files: texts }) =>
        !is_in_force && (
          <div class="row">
            <ButtonLink href={diffHref(whole, RUNNING)}>Compare</ButtonLink>
            {mayEdit && !draft.value && <Button onClick={() => goBack(files, texts)}>Restore in an edit</Button>}
          </div>
        )
      }
    >
      {({ revision: whole, saved, files: texts }) => {
        const shown = texts.find(({ name }) => name === chosen) ?? texts[0];
        return (
          <>
            <p class="dim">
              It last became active <When at={saved} />.
            </p>
            <fieldset class="row policies-names" aria-label="Files">
              {texts.map(({ name }) => (
                <Button
                  key={name}
                  {...(name !== shown?.name && { kind: 'plain' as const })}
                  aria-pressed={name === shown?.name}
                  onClick={() => {
                    setChosen(name);
                    setParams({ file: name, line: null });
                  }}
                >
                  {name}
                </Button>
              ))}
            </fieldset>
            {shown ? (
              <Code
                key={`${whole} ${shown.name}`}
                name={`${shown.name} of revision ${shortOf(whole)}`}
                text={shown.text}
                isReadOnly
                diagnostics={NONE}
                line={Number(param('line'))}
                onLine={(line) => setParams({ line: String(line) })}
              />
            ) : (
              <Partial>The revision has no file.</Partial>
            )}
          </>
        );
      }}
    </LoadedCard>
  );
}

const NONE: readonly never[] = [];

/** Starts an edit that restores a stored policy. Files with a hidden secret stay as they are. */
function goBack(files: PolicyFiles, texts: readonly { readonly name: string; readonly text: string }[]): void {
  const wanted = new Map<string, string | null>([
    ...files.files.map(({ name }) => [name, null] as const),
    ...texts.map(({ name, text }) => [name, text] as const),
  ]);
  for (const { name, text } of texts) if (text.includes('[secret]')) wanted.delete(name);
  for (const { name, is_masked } of files.files) if (is_masked) wanted.delete(name);
  rebase(files, wanted);
  if (draft.peek()) go(diffHref(RUNNING, EDIT));
  else toast('Its files are the same as in the active policy');
}
