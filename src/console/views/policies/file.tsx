import { useMemo } from 'preact/hooks';
import { useResource } from '../../api/resource.ts';
import { Button } from '../../design/button.tsx';
import { Card } from '../../design/card.tsx';
import { Select } from '../../design/field.tsx';
import { plural } from '../../design/format.ts';
import { Empty, Partial } from '../../design/states.tsx';
import { State } from '../../design/tag.tsx';
import { toast } from '../../design/toast.tsx';
import { Coded } from '../../design/written.tsx';
import { go, hrefOf, param, setParams } from '../../shell/router.ts';
import { Code } from './code.tsx';
import { draft, edit, namesOf, type PolicyFiles, textOf } from './draft.ts';
import { fileHref, placeHref, waysTaken } from './places.ts';
import { diagnosticsOf, type FileDiagnostic, type PolicyJudgement } from './tools.ts';

interface FilePageProps {
  readonly files: PolicyFiles;
  readonly name: string;
  readonly judgement: PolicyJudgement;
  readonly mayEdit: boolean;
}

/** Shows a file in the editor, with the server's diagnostics. */
export function FilePage({ files, name, judgement, mayEdit }: FilePageProps) {
  const schema = useResource('/admin/policy/schema');
  const edits = draft.value?.edits;
  const own = edits?.get(name);
  const text = textOf(files, edits, name);
  const file = files.files.find((one) => one.name === name);
  const { data: result, failure, isLoading } = judgement;
  const diagnostics = useMemo(() => diagnosticsOf(judgement, name), [result, name]);
  const names = namesOf(files, edits);
  const isReadOnly = !mayEdit || file?.is_masked === true;
  return (
    <Card
      id="policies-file"
      heading={name}
      aside={
        <div class="row">
          <Select
            label="File"
            isBare
            value={name}
            onValue={(next) => go(fileHref(next))}
            options={(names.includes(name) ? names : [name, ...names]).map((one) => ({
              value: one,
              label: edits?.has(one) ? `${one} (edited)` : one,
            }))}
          />
          {own && (
            <Button kind="plain" onClick={() => undoEdit(files, name, own.base)}>
              {text === null ? 'Undo removal' : own.base === null ? 'Discard file' : 'Undo edit'}
            </Button>
          )}
          {!isReadOnly && file && text !== null && names.length > 1 && (
            <Button kind="plain" onClick={() => edit(files, name, null)}>
              Remove file
            </Button>
          )}
        </div>
      }
    >
      {file?.is_masked && (
        <Partial>
          This file contains text that looks like a secret. It is shown as [secret] and cannot be edited here: edit it
          where the files are kept.
        </Partial>
      )}
      {text === null ? (
        <Empty title={own ? `Your edit removes ${name}` : `The policy has no file ${name}`}>
          {own ? 'Undo the removal to keep the file.' : <a href={hrefOf('/policies')}>Show all files</a>}
        </Empty>
      ) : (
        <div class="policies-file">
          <Code
            key={name}
            {...{ name, text, isReadOnly, diagnostics }}
            schema={schema.data}
            line={Number(param('line'))}
            column={Number(param('column')) || 1}
            textNow={() => textOf(files, draft.peek()?.edits, name) ?? ''}
            onText={(next) => edit(files, name, next)}
            onLine={(next) => setParams({ line: String(next), column: null })}
          />
          <p class="small dim policies-keys">
            {isReadOnly ? '' : 'Press Escape, then Tab to leave the editor. Ctrl-Space completes a word. '}
            {isLoading ? 'Checking …' : result && !failure ? summaryOf(diagnostics) : ''}
          </p>
          {failure && (
            <p class="field-error">
              Not checked: <Coded text={failure.message} />
            </p>
          )}
          <Diagnostics found={diagnostics} />
        </div>
      )}
    </Card>
  );
}

/** Restores the text with which the edit of a file started. The message can restore the edit. */
function undoEdit(files: PolicyFiles, name: string, base: string | null): void {
  const before = draft.peek();
  edit(files, name, base);
  toast(`Your edit of ${name} is undone.`, () => {
    draft.value = before;
  });
}

export const countOf = (found: readonly FileDiagnostic[], kind: FileDiagnostic['severity']): number =>
  found.filter(({ severity }) => severity === kind).length;

function summaryOf(found: readonly FileDiagnostic[]): string {
  const [errors, warnings] = [countOf(found, 'error'), countOf(found, 'warning')];
  if (errors + warnings === 0) return 'This file has no mistakes.';
  const parts = [errors > 0 && plural(errors, 'error'), warnings > 0 && plural(warnings, 'warning')];
  return `This file has ${parts.filter(Boolean).join(' and ')}.`;
}

interface DiagnosticsProps {
  readonly found: readonly Omit<FileDiagnostic, 'end_column' | 'frame' | 'help'>[];
  readonly withFile?: boolean;
}

/** The server's diagnostics, each with a link to its location. */
export function Diagnostics({ found, withFile = false }: DiagnosticsProps) {
  if (found.length === 0) return null;
  return (
    <ul class="policies-diagnostics stack-tight" aria-label="Diagnostics">
      {found.map((one) => (
        <li key={`${one.file} ${one.line} ${one.column} ${one.code} ${one.message}`}>
          <State tone={one.severity === 'error' ? 'bad' : 'warn'}>
            {one.severity === 'error' ? 'Error' : 'Warning'}
          </State>
          <div>
            <a
              href={placeHref(one)}
              onClick={() => {
                waysTaken.value += 1;
              }}
            >
              {withFile ? `${one.file}:` : 'Line '}
              {one.line}
            </a>{' '}
            <Coded text={one.message} />
            {[one.hint, one.expected && `Expected: ${one.expected}`].filter(Boolean).map((more) => (
              <p class="small dim" key={more}>
                <Coded text={more ?? ''} />
              </p>
            ))}
          </div>
        </li>
      ))}
    </ul>
  );
}
