import { useState } from 'preact/hooks';
import { useResource } from '../../api/resource.ts';
import { Button } from '../../design/button.tsx';
import { Field } from '../../design/field.tsx';
import { Loaded } from '../../design/states.tsx';
import { Table } from '../../design/table.tsx';
import { State } from '../../design/tag.tsx';
import { When } from '../../design/written.tsx';
import { go } from '../../shell/router.ts';
import { diagnosticsOf, type FileDiagnostic, judgement } from './checks.ts';
import { draft, edit, namesOf, type PolicyFiles, textOf } from './draft.ts';
import { Diagnostics, plural } from './file.tsx';
import { fileHref } from './places.ts';

/** The files of the policy, the last reload, and everything that the server says of them. */
export function FilesPage({ files, mayEdit }: { readonly files: PolicyFiles; readonly mayEdit: boolean }) {
  const edits = draft.value?.edits;
  const found = judgement.value;
  const rows = namesOf(files, edits).map((name) => {
    const text = textOf(files, edits, name);
    const own = diagnosticsOf(found, name);
    return {
      name,
      lines: text === null ? null : text.replace(/\n$/, '').split('\n').length,
      isMasked: files.files.find((one) => one.name === name)?.is_masked === true,
      edit: edits?.get(name),
      errors: own.filter(({ severity }) => severity === 'error').length,
      warnings: own.filter(({ severity }) => severity === 'warning').length,
    };
  });
  return (
    <div class="stack">
      <LastReload />
      <section class="card" aria-labelledby="policies-files">
        <div class="card-head">
          <h2 id="policies-files">{plural(rows.length, 'file')}</h2>
        </div>
        <Table
          label="Files"
          rows={rows}
          keyOf={({ name }) => name}
          hrefOf={({ name }) => fileHref(name)}
          columns={[
            { id: 'name', head: 'File', sort: ({ name }) => name, cell: ({ name }) => name },
            {
              id: 'state',
              head: 'State',
              phone: 'second',
              cell: ({ edit: own, errors, warnings, isMasked }) => (
                <span class="row">
                  {own && (
                    <State tone="quiet">
                      {own.text === null ? 'Removed by you' : own.base === null ? 'Added by you' : 'Edited'}
                    </State>
                  )}
                  {errors > 0 && <State tone="bad">{plural(errors, 'error')}</State>}
                  {warnings > 0 && <State tone="warn">{plural(warnings, 'warning')}</State>}
                  {isMasked && <State tone="warn">Has a secret</State>}
                  {!own &&
                    errors + warnings === 0 &&
                    !isMasked &&
                    (found.result ? (
                      <State tone="good">No mistake</State>
                    ) : (
                      <span class="dim">{found.failure ? 'Not checked' : 'Checking …'}</span>
                    ))}
                </span>
              ),
            },
            {
              id: 'lines',
              head: 'Lines',
              isFigure: true,
              phone: 'fact',
              sort: ({ lines }) => lines,
              cell: ({ lines }) => lines ?? '–',
            },
          ]}
        />
        {mayEdit && <NewFile files={files} names={rows.map(({ name }) => name)} />}
      </section>
      {(found.result?.diagnostics.length ?? 0) > 0 && (
        <section class="card stack-tight" aria-labelledby="policies-found">
          <h2 id="policies-found">
            {plural(found.result?.errors ?? 0, 'error')} and {plural(found.result?.warnings ?? 0, 'warning')}
            {draft.value ? ' with your edit' : ' in the files on disk'}
          </h2>
          <Diagnostics found={errorsFirst(found.result?.diagnostics ?? [])} withFile />
        </section>
      )}
      {found.failure && (
        <p class="field-error" role="alert">
          The files could not be checked: {found.failure.message}
        </p>
      )}
    </div>
  );
}

/** The errors refuse the policy, so no warning of an earlier file stands before them. */
const errorsFirst = (found: readonly FileDiagnostic[]): readonly FileDiagnostic[] =>
  found.toSorted((one, other) => Number(other.severity === 'error') - Number(one.severity === 'error'));

function LastReload() {
  const policy = useResource('/admin/policy');
  return (
    <Loaded what="Reloads" of={policy} skeleton={<p class="dim">&nbsp;</p>}>
      {({ last_reload: { result, time, message }, models }) => (
        <p class="dim">
          {plural(models, 'model')} served. Last reload <When at={time} />:{' '}
          {result === 'refused' ? `refused. ${message}` : message}
        </p>
      )}
    </Loaded>
  );
}

const NAME = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}\.ya?ml$/;

function NewFile({ files, names }: { readonly files: PolicyFiles; readonly names: readonly string[] }) {
  const [name, setName] = useState<string | null>(null);
  if (name === null) {
    return (
      <div class="table-foot">
        <Button onClick={() => setName('')}>Add a file</Button>
      </div>
    );
  }
  const whole = name === '' || /\.ya?ml$/.test(name) ? name : `${name}.yaml`;
  const error = names.includes(whole)
    ? `There is a file ${whole}.`
    : name !== '' && !NAME.test(whole)
      ? 'Letters, digits, dots, dashes and underscores.'
      : null;
  const add = () => {
    edit(files, whole, '');
    go(fileHref(whole));
  };
  return (
    <div class="filters policies-new">
      <Field label="Name of the new file" placeholder="rules.yaml" value={name} error={error} onValue={setName} />
      <Button kind="first" disabled={whole === '' || error !== null} onClick={add}>
        Add {whole || 'file'}
      </Button>
      <Button kind="plain" onClick={() => setName(null)}>
        Cancel
      </Button>
    </div>
  );
}
