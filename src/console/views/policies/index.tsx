import { RENEWAL_MS, useResource } from '../../api/resource.ts';
import { ButtonLink } from '../../design/button.tsx';
import { plural } from '../../design/format.ts';
import { Empty, Loaded } from '../../design/states.tsx';
import { hrefOf, partsBelow } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import { ViewHead } from '../../shell/view-head.tsx';
import { CasesPage } from './cases.tsx';
import { ChoicesPage } from './choices.tsx';
import { DiffPage } from './diff.tsx';
import { changesBody, draft, type PolicyFiles } from './draft.ts';
import { EditBar } from './edit-bar.tsx';
import { FilePage } from './file.tsx';
import { FilesPage } from './files.tsx';
import { DISK, diffHref, RUNNING, shortOf } from './places.ts';
import { RevisionPage, RevisionsPage } from './revisions.tsx';
import { type PolicyJudgement, useTool } from './tools.ts';

const PARTS = { files: 'Files', cases: 'Cases', choices: 'Choices', diff: 'Differences', revisions: 'Revisions' };
/** How long the viewer must stop typing before the edit is checked, ms. */
const PAUSE_MS = 300;

/** Shows the policy with its files, test cases, choices, differences and revisions, and the viewer's edit. */
export default function Policies() {
  const mayEdit = reachOfViewer('policy.check') !== null;
  const files = useResource('/admin/policy/files', {}, { every: RENEWAL_MS });
  const judgement = useTool('check', mayEdit ? changesBody() : null, PAUSE_MS);
  const [part = 'files', detail] = partsBelow('/policies');
  return (
    <div class="stack">
      <ViewHead title="Policies" summary={files.data ? summaryOf(files.data) : ' '} hasRange={false} />
      <nav class="tabs" aria-label="Parts of the policy">
        {Object.entries(PARTS).map(([id, label]) => (
          <a
            key={id}
            class="tab"
            href={hrefOf(id === 'files' ? '/policies' : `/policies/${id}`)}
            aria-current={id === part ? 'page' : undefined}
          >
            {label}
          </a>
        ))}
      </nav>
      <Loaded what="Policies" of={files}>
        {(data) => {
          // Diagnostics and edits apply to the files on disk.
          const edited = data.disk_files ? { ...data, files: data.disk_files } : data;
          return (
            <>
              <DiskNotice files={data} />
              <EditBar files={edited} judgement={judgement} />
              <Part files={edited} {...{ judgement, part, detail, mayEdit }} />
            </>
          );
        }}
      </Loaded>
    </div>
  );
}

const summaryOf = ({ revision, files }: PolicyFiles): string =>
  `Revision ${shortOf(revision)} is active, from ${files.length === 1 ? 'one file' : plural(files.length, 'file')}${draft.value ? '; your edit is not applied' : ''}`;

/**
 * Says that the files on disk differ from the active policy, for example because the server refused an edit there. Diagnostics are about
 * the files on disk.
 */
const DiskNotice = ({ files: { on_disk } }: { readonly files: PolicyFiles }) =>
  on_disk === 'same' ? null : (
    <div class="notice notice-bad" role="status">
      <span>
        {on_disk === 'differs'
          ? 'The files on disk differ from the active policy. The texts and mistakes below are from the files on disk.'
          : 'The files on disk cannot be read. The texts below are from the active policy.'}
      </span>
      {on_disk === 'differs' && <ButtonLink href={diffHref(RUNNING, DISK)}>Compare</ButtonLink>}
    </div>
  );

interface PartProps {
  readonly files: PolicyFiles;
  readonly judgement: PolicyJudgement;
  readonly part: string;
  readonly detail: string | undefined;
  readonly mayEdit: boolean;
}

function Part({ part, detail, ...given }: PartProps) {
  if (part === 'files' && detail !== undefined) return <FilePage key={detail} {...given} name={detail} />;
  if (part === 'files') return <FilesPage {...given} />;
  if (part === 'cases') return <CasesPage />;
  if (part === 'choices') return <ChoicesPage />;
  if (part === 'diff') return <DiffPage files={given.files} />;
  if (part === 'revisions' && detail !== undefined) return <RevisionPage key={detail} {...given} revision={detail} />;
  if (part === 'revisions') return <RevisionsPage files={given.files} />;
  return <Empty title="No such page">The policy has files, cases, choices, differences and revisions.</Empty>;
}
