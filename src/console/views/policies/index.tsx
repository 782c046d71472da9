import { RENEWAL_MS, useResource } from '../../api/resource.ts';
import { ButtonLink } from '../../design/button.tsx';
import { Empty, Loaded } from '../../design/states.tsx';
import { hrefOf, partsBelow } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import { ViewHead } from '../../shell/view-head.tsx';
import { CasesPage } from './cases.tsx';
import { useChecks } from './checks.ts';
import { DiffPage } from './diff.tsx';
import { draft, type PolicyFiles } from './draft.ts';
import { EditBar } from './edit-bar.tsx';
import { FilePage } from './file.tsx';
import { FilesPage } from './files.tsx';
import { DISK, diffHref, RUNNING, shortOf } from './places.ts';
import { RevisionPage, RevisionsPage } from './revisions.tsx';

const PARTS = [
  { id: 'files', label: 'Files', to: '/policies' },
  { id: 'cases', label: 'Cases', to: '/policies/cases' },
  { id: 'diff', label: 'Differences', to: '/policies/diff' },
  { id: 'revisions', label: 'Revisions', to: '/policies/revisions' },
];

/** The policy as its files, its cases and its past, and an edit of it. */
export default function Policies() {
  const mayCheck = reachOfViewer('policy.check') !== null;
  const files = useResource('/admin/policy/files', {}, { every: RENEWAL_MS });
  useChecks(mayCheck);
  const [part = 'files', detail] = partsBelow('/policies');
  return (
    <div class="stack">
      <ViewHead title="Policies" summary={files.data ? summaryOf(files.data) : ' '} hasRange={false} />
      <nav class="tabs" aria-label="Parts of the policy">
        {PARTS.map(({ id, label, to }) => (
          <a key={id} class="tab" href={hrefOf(to)} aria-current={id === part ? 'page' : undefined}>
            {label}
          </a>
        ))}
      </nav>
      <Loaded what="Policies" of={files}>
        {(data) => {
          // Mistakes and edits are those of the files on disk.
          const edited = data.disk_files ? { ...data, files: data.disk_files } : data;
          return (
            <>
              <DiskNotice files={data} />
              <EditBar files={edited} />
              <Part files={edited} part={part} detail={detail} mayEdit={mayCheck} />
            </>
          );
        }}
      </Loaded>
    </div>
  );
}

const summaryOf = ({ revision, files }: PolicyFiles): string =>
  `Revision ${shortOf(revision)} is in force, from ${files.length === 1 ? 'one file' : `${files.length} files`}${draft.value ? '; your edit is not written' : ''}`;

/** The files on disk are others, as after an edit there that was refused: what the server says of files is about those. */
const DiskNotice = ({ files: { on_disk } }: { readonly files: PolicyFiles }) =>
  on_disk === 'same' ? null : (
    <div class="notice notice-bad" role="status">
      <span>
        {on_disk === 'differs'
          ? 'The files on disk are not those in force. Texts and mistakes below are those on disk.'
          : 'The files on disk cannot be read. Texts are those in force.'}
      </span>
      {on_disk === 'differs' && <ButtonLink href={diffHref(RUNNING, DISK)}>Compare</ButtonLink>}
    </div>
  );

function Part({
  files,
  part,
  detail,
  mayEdit,
}: {
  readonly files: PolicyFiles;
  readonly part: string;
  readonly detail: string | undefined;
  readonly mayEdit: boolean;
}) {
  if (part === 'files' && detail !== undefined)
    return <FilePage key={detail} files={files} name={detail} mayEdit={mayEdit} />;
  if (part === 'files') return <FilesPage files={files} mayEdit={mayEdit} />;
  if (part === 'cases') return <CasesPage />;
  if (part === 'diff') return <DiffPage files={files} />;
  if (part === 'revisions' && detail !== undefined)
    return <RevisionPage key={detail} files={files} revision={detail} mayEdit={mayEdit} />;
  if (part === 'revisions') return <RevisionsPage files={files} />;
  return <Empty title="No such page">The policy has files, cases, differences and revisions.</Empty>;
}
