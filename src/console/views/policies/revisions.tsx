import { useState } from 'preact/hooks';
import type { ReadOf } from '../../api/reads.ts';
import { useResource } from '../../api/resource.ts';
import { Button, ButtonLink } from '../../design/button.tsx';
import { Empty, Loaded, Partial } from '../../design/states.tsx';
import { Table } from '../../design/table.tsx';
import { State, Tag } from '../../design/tag.tsx';
import { toast } from '../../design/toast.tsx';
import { When } from '../../design/written.tsx';
import { go, hrefOf, param, setParams } from '../../shell/router.ts';
import { Code } from './code.tsx';
import { draft, type PolicyFiles, rebase } from './draft.ts';
import { diffHref, EDIT, RUNNING, revisionHref, shortOf } from './places.ts';

const PAGE = 50;
const CAUSES: Readonly<Record<string, string>> = {
  start: 'start',
  edit: 'edit of the files',
  push: 'push',
  signal: 'signal',
  request: 'request',
};

/** The policies that were in force, the newest first. */
export function RevisionsPage({ files }: { readonly files: PolicyFiles }) {
  const after = param('after');
  const revisions = useResource('/admin/policy/revisions', { limit: PAGE, after });
  return (
    <section class="card" aria-label="Revisions">
      <Loaded what="Revisions" of={revisions}>
        {({ data, has_more }) =>
          data.length === 0 ? (
            <Empty title="No revision is noted">The trail notes each policy that comes into force.</Empty>
          ) : (
            <>
              <Table
                label="Revisions"
                rows={data}
                keyOf={({ id }) => String(id)}
                columns={[
                  {
                    id: 'revision',
                    head: 'Revision',
                    cell: ({ revision, until, is_stored }) => (
                      <>
                        {is_stored ? (
                          <a href={revisionHref(revision)} class="mono">
                            {shortOf(revision)}
                          </a>
                        ) : (
                          <span class="mono">{shortOf(revision)}</span>
                        )}{' '}
                        {until === null && <State tone="good">In force</State>}
                      </>
                    ),
                  },
                  { id: 'from', head: 'In force from', phone: 'fact', cell: ({ from }) => <When at={from} /> },
                  { id: 'until', head: 'Until', cell: ({ until }) => (until === null ? '–' : <When at={until} />) },
                  {
                    id: 'cause',
                    head: 'Cause',
                    phone: 'second',
                    cell: ({ cause, actor }) =>
                      `${CAUSES[cause ?? ''] ?? cause ?? '–'}${actor.name === null ? '' : `, ${actor.name}`}`,
                  },
                  {
                    id: 'compare',
                    head: 'Compare',
                    cell: (row) => <Compared row={row} before={data[data.indexOf(row) + 1]} inForce={files.revision} />,
                  },
                ]}
              />
              <div class="table-foot">
                {after !== '' && <a href={hrefOf('/policies/revisions')}>Newest</a>}
                {has_more && (
                  <a href={hrefOf('/policies/revisions', { after: String(data.at(-1)?.id ?? '') })}>Older</a>
                )}
              </div>
            </>
          )
        }
      </Loaded>
    </section>
  );
}

type RevisionRow = ReadOf<'/admin/policy/revisions'>['data'][number];

function Compared({
  row: { revision, is_stored },
  before,
  inForce,
}: {
  readonly row: RevisionRow;
  readonly before: RevisionRow | undefined;
  readonly inForce: string;
}) {
  if (!is_stored) return <Tag>text not kept</Tag>;
  return (
    <span class="row">
      {before?.is_stored === true && <a href={diffHref(before.revision, revision)}>With the one before</a>}
      {revision !== inForce && <a href={diffHref(revision, RUNNING)}>With that in force</a>}
    </span>
  );
}

/** A stored policy, file by file. */
export function RevisionPage({
  files,
  revision,
  mayEdit,
}: {
  readonly files: PolicyFiles;
  readonly revision: string;
  readonly mayEdit: boolean;
}) {
  const stored = useResource(`/admin/policy/revisions/${encodeURIComponent(revision)}`);
  const [chosen, setChosen] = useState(param('file'));
  return (
    <Loaded what="Revisions" of={stored}>
      {({ revision: whole, is_in_force, saved, files: texts }) => {
        const shown = texts.find(({ name }) => name === chosen) ?? texts[0];
        return (
          <section class="card" aria-labelledby="policies-revision">
            <div class="card-head">
              <h2 id="policies-revision">
                Revision {shortOf(whole)} {is_in_force && <State tone="good">In force</State>}
              </h2>
              <div class="row">
                {!is_in_force && <ButtonLink href={diffHref(whole, RUNNING)}>Compare</ButtonLink>}
                {!is_in_force && mayEdit && !draft.value && (
                  <Button onClick={() => goBack(files, texts)}>Edit back to it</Button>
                )}
              </div>
            </div>
            <p class="dim">
              It last came into force <When at={saved} />.
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
                schema={null}
                diagnostics={NONE}
                at={Number(param('line')) > 0 ? { line: Number(param('line')), column: 1 } : null}
                onText={() => {}}
                onLine={(line) => setParams({ line: String(line) })}
              />
            ) : (
              <Partial>The revision has no file.</Partial>
            )}
          </section>
        );
      }}
    </Loaded>
  );
}

const NONE: readonly never[] = [];

/** Begins an edit that makes the policy what it was. Files with a hidden secret stay as they are. */
function goBack(files: PolicyFiles, texts: readonly { readonly name: string; readonly text: string }[]): void {
  const masked = new Set(files.files.filter(({ is_masked }) => is_masked).map(({ name }) => name));
  const wanted = new Map<string, string | null>(files.files.map(({ name }) => [name, null]));
  for (const { name, text } of texts)
    if (!text.includes('[secret]')) wanted.set(name, text);
    else wanted.delete(name);
  for (const name of masked) wanted.delete(name);
  rebase(files, wanted);
  if (draft.peek()) go(diffHref(RUNNING, EDIT));
  else toast('Its files are those in force');
}
