import { useMemo } from 'preact/hooks';
import { useResource } from '../../api/resource.ts';
import { Button } from '../../design/button.tsx';
import { Select } from '../../design/field.tsx';
import { Empty, Partial } from '../../design/states.tsx';
import { State } from '../../design/tag.tsx';
import { Coded } from '../../design/written.tsx';
import { go, hrefOf, param, setParams } from '../../shell/router.ts';
import { diagnosticsOf, type FileDiagnostic, judgement } from './checks.ts';
import { Code } from './code.tsx';
import { draft, edit, namesOf, type PolicyFiles, textOf } from './draft.ts';
import { fileHref, placeHref, waysTaken } from './places.ts';

/** One file in the editor, with the server's judgement of it. */
export function FilePage({
  files,
  name,
  mayEdit,
}: {
  readonly files: PolicyFiles;
  readonly name: string;
  readonly mayEdit: boolean;
}) {
  const schema = useResource('/admin/policy/schema');
  const edits = draft.value?.edits;
  const text = textOf(files, edits, name);
  const file = files.files.find((one) => one.name === name);
  const found = judgement.value;
  const diagnostics = useMemo(() => diagnosticsOf(found, name), [found.result, name]);
  const line = Number(param('line'));
  const names = namesOf(files, edits);
  const isReadOnly = !mayEdit || file?.is_masked === true;
  return (
    <section class="card policies-file" aria-labelledby="policies-file">
      <div class="card-head">
        <h2 id="policies-file">{name}</h2>
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
          {edits?.has(name) && (
            <Button kind="plain" onClick={() => edit(files, name, edits.get(name)?.base ?? null)}>
              Take back
            </Button>
          )}
          {mayEdit && file && !file.is_masked && text !== null && names.length > 1 && (
            <Button kind="plain" onClick={() => edit(files, name, null)}>
              Remove file
            </Button>
          )}
        </div>
      </div>
      {file?.is_masked && (
        <Partial>
          This file has a text that looks like a secret. It is shown as [secret] and cannot be edited here: edit it
          where the files are kept.
        </Partial>
      )}
      {text === null ? (
        <Empty title={edits?.has(name) ? `Your edit removes ${name}` : `The policy has no file ${name}`}>
          {edits?.has(name) ? 'Take it back to keep the file.' : <a href={hrefOf('/policies')}>Show all files</a>}
        </Empty>
      ) : (
        <>
          <Code
            key={name}
            {...{ name, text, isReadOnly, diagnostics }}
            schema={schema.data}
            at={line > 0 ? { line, column: Number(param('column')) || 1 } : null}
            textNow={() => textOf(files, draft.peek()?.edits, name) ?? ''}
            onText={(next) => edit(files, name, next)}
            onLine={(next) => setParams({ line: String(next), column: null })}
          />
          <p class="small dim policies-keys">
            {isReadOnly ? '' : 'Escape, then Tab leaves the editor. Ctrl-Space completes. '}
            {found.isRunning ? 'Checking …' : found.result && !found.failure ? summaryOf(diagnostics) : ''}
          </p>
          {found.failure && <p class="field-error">Not checked: {found.failure.message}</p>}
          <Diagnostics found={diagnostics} />
        </>
      )}
    </section>
  );
}

function summaryOf(found: readonly FileDiagnostic[]): string {
  const count = (kind: FileDiagnostic['severity']) => found.filter(({ severity }) => severity === kind).length;
  const [errors, warnings] = [count('error'), count('warning')];
  if (errors + warnings === 0) return 'No mistake in this file.';
  const parts = [errors > 0 ? plural(errors, 'error') : '', warnings > 0 ? plural(warnings, 'warning') : ''];
  return `${parts.filter(Boolean).join(' and ')} in this file.`;
}

export const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** The server's diagnostics, each a way to its place. */
export function Diagnostics({
  found,
  withFile = false,
}: {
  readonly found: readonly FileDiagnostic[];
  readonly withFile?: boolean;
}) {
  if (found.length === 0) return null;
  return (
    <ul class="policies-diagnostics" aria-label="Diagnostics">
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
