import { useState } from 'preact/hooks';
import type { ApiFailure } from '../../api/failure.ts';
import { Button, ButtonLink } from '../../design/button.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { plural } from '../../design/format.ts';
import { toast } from '../../design/toast.tsx';
import { Coded } from '../../design/written.tsx';
import { go, path } from '../../shell/router.ts';
import { downloadPatch, draft, type PolicyDraft, type PolicyFiles, rebase, textOf, writeDraft } from './draft.ts';
import { diffHref, EDIT, placeHref, RUNNING, shortOf } from './places.ts';
import type { PolicyJudgement, ToolAnswer } from './tools.ts';

interface EditBarProps {
  readonly files: PolicyFiles;
  readonly judgement: PolicyJudgement;
}

/** Changes the edit, and shows a message that can undo the change. */
function replaceDraft(now: PolicyDraft, change: () => void, said: string): void {
  change();
  toast(said, () => {
    draft.value = now;
  });
}

const drop = () => {
  draft.value = null;
};

/** Saves, discards or downloads the edit. The bar is shown on every page of the view while there is an edit. */
export function EditBar({ files, judgement: { data: result, isLoading } }: EditBarProps) {
  const [isBusy, setBusy] = useState(false);
  const [isDiscarding, setDiscarding] = useState(false);
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  const now = draft.value;
  if (!now) return null;
  // Guarded changes are shown only for a valid edit, because a file with errors would look as if the edit removed all declarations of the
  // file.
  const guarded = result?.errors === 0 ? result.guarded : [];
  const isMoved = now.revision !== files.revision;
  const isForFiles = guarded.some(({ by }) => by === 'files');
  const isWritable = files.on_disk === 'same' && !isForFiles && (guarded.length === 0 || files.writes.guarded);
  const isRight = (result?.errors ?? 0) === 0 && !isLoading;
  const why = refusalOf(files);
  const act = async (work: () => Promise<ApiFailure | null>) => {
    setBusy(true);
    const refused = await work();
    setBusy(false);
    setFailure(refused);
  };
  return (
    <section class="card policies-bar" aria-label="Your edit">
      <div class="row row-apart">
        <div>
          <h2>Your edit of {[...now.edits.keys()].sort().join(', ')}</h2>
          <p class="small dim" role="status">
            <ErrorsText result={result} /> It is not applied yet, and only this page contains it.
          </p>
        </div>
        <div class="row">
          <Button kind="plain" onClick={() => setDiscarding(true)}>
            Discard edit
          </Button>
          {path.value !== '/policies/diff' && <ButtonLink href={diffHref(RUNNING, EDIT)}>Review edit</ButtonLink>}
          <Button disabled={isBusy} onClick={() => void act(downloadPatch)}>
            Download patch
          </Button>
          {files.writes.ordinary && (
            <Button
              kind="first"
              disabled={isBusy || isMoved || !isWritable || !isRight}
              onClick={() => void act(writeDraft)}
            >
              Apply edit
            </Button>
          )}
        </div>
      </div>
      {guarded.length > 0 && (
        <div class="policies-guarded">
          <p>
            <strong>Guarded:</strong>{' '}
            {isForFiles ? (
              'Only a person who can edit the policy files may apply this edit.'
            ) : (
              <>
                Only an owner may apply this edit, on a server that was started with <code>--allow-policy-writes</code>.
              </>
            )}{' '}
            {files.writes.guarded && !isForFiles
              ? 'You may apply it.'
              : 'Download the patch and apply it where the policy files are kept.'}
          </p>
          <ul>
            {guarded.map(({ section, name, key, why: reason }) => {
              const place = [section, name, key].filter((part) => part !== null).join('.');
              return (
                <li key={place}>
                  <code>{place}</code>: {reason}
                </li>
              );
            })}
          </ul>
        </div>
      )}
      {isMoved ? <MovedNotice files={files} edited={now} /> : why !== '' && <p class="small dim">{why}</p>}
      {failure && !(isMoved && failure.code === 'precondition_failed') && (
        <p class="field-error" role="alert">
          <Coded text={failure.message} />
        </p>
      )}
      {isDiscarding && (
        <Dialog
          title={`Discard your edit of ${plural(now.edits.size, 'file')}?`}
          action="Discard edit"
          onClose={() => setDiscarding(false)}
          onAction={() => {
            setDiscarding(false);
            replaceDraft(now, drop, 'The edit is discarded');
          }}
        >
          The page then shows the files of the active policy. You lose your edit if you have not downloaded a patch.
        </Dialog>
      )}
    </section>
  );
}

/**
 * The message that is shown if another revision became active while the viewer edited. The viewer can load the files of that revision or
 * save the edit over them.
 */
function MovedNotice({ files, edited }: { readonly files: PolicyFiles; readonly edited: PolicyDraft }) {
  const both = [...edited.edits].flatMap(([name, { base }]) => (textOf(files, undefined, name) === base ? [] : [name]));
  const texts = new Map([...edited.edits].map(([name, { text }]) => [name, text]));
  const keep = () => {
    rebase(files, texts);
    go(diffHref(RUNNING, EDIT));
  };
  return (
    <div class="notice" role="status">
      <span>
        The policy changed while you edited: revision {shortOf(files.revision)} is active now.{' '}
        {both.length === 0
          ? 'The new revision did not change the files that you edited.'
          : `The new revision also changed ${both.sort().join(', ')}.`}{' '}
        Your edit is still here.
      </span>
      <div class="row">
        <ButtonLink href={diffHref(edited.revision, RUNNING)}>Show what changed</ButtonLink>
        <Button onClick={() => replaceDraft(edited, drop, 'The stored files are loaded')}>Load stored files</Button>
        <Button
          onClick={() => replaceDraft(edited, keep, 'Your edit is kept. If you apply it, it replaces the stored files')}
        >
          Keep my edit
        </Button>
      </div>
    </div>
  );
}

function ErrorsText({ result }: { readonly result: ToolAnswer<'check'> | null }) {
  if (result === null) return <>The server is checking the edit.</>;
  const first = result.diagnostics.find(({ severity }) => severity === 'error');
  if (!first) return <>The edit has no errors.</>;
  return (
    <>
      The edit has <a href={placeHref(first)}>{plural(result.errors, 'error')}</a>.
    </>
  );
}

/** Why the edit cannot be saved; '' if it can be saved. */
function refusalOf({ writes, on_disk }: PolicyFiles): string {
  if (!writes.ordinary)
    return `This edit cannot be applied here: ${writes.refused ?? 'your role may not change the policy'}.`;
  if (on_disk === 'same') return '';
  return 'The files on disk differ from the active policy. You can apply an edit only when they are the same.';
}
