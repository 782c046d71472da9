import { useState } from 'preact/hooks';
import { useResource } from '../../api/resource.ts';
import { Button } from '../../design/button.tsx';
import { Card } from '../../design/card.tsx';
import { Field } from '../../design/field.tsx';
import { plural } from '../../design/format.ts';
import { Loaded } from '../../design/states.tsx';
import { Table } from '../../design/table.tsx';
import { State } from '../../design/tag.tsx';
import { Coded, When } from '../../design/written.tsx';
import { go } from '../../shell/router.ts';
import { draft, edit, namesOf, type PolicyFiles, textOf } from './draft.ts';
import { countOf, Diagnostics } from './file.tsx';
import { fileHref } from './places.ts';
import { diagnosticsOf, type PolicyJudgement } from './tools.ts';

interface FilesPageProps {
  readonly files: PolicyFiles;
  readonly judgement: PolicyJudgement;
  readonly mayEdit: boolean;
}

/** The files of the policy, the last reload, and all diagnostics. */
export function FilesPage({ files, judgement, mayEdit }: FilesPageProps) {
  const edits = draft.value?.edits;
  const { data: result, failure } = judgement;
  const names = namesOf(files, edits);
  const stateOf = (name: string) => {
    const found = diagnosticsOf(judgement, name);
    const [errors, warnings] = [countOf(found, 'error'), countOf(found, 'warning')];
    const isMasked = files.files.find((one) => one.name === name)?.is_masked === true;
    const own = edits?.get(name);
    const isPlain = !own && errors + warnings === 0 && !isMasked;
    return (
      <span class="row">
        {own && (
          <State tone="quiet">
            {own.text === null ? 'Removed by you' : own.base === null ? 'Added by you' : 'Edited'}
          </State>
        )}
        {errors > 0 && <State tone="bad">{plural(errors, 'error')}</State>}
        {warnings > 0 && <State tone="warn">{plural(warnings, 'warning')}</State>}
        {isMasked && <State tone="warn">Has a secret</State>}
        {isPlain && result && <State tone="good">No mistakes</State>}
        {isPlain && !result && <span class="dim">{failure ? 'Not checked' : 'Checking …'}</span>}
      </span>
    );
  };
  const linesOf = (name: string) => textOf(files, edits, name)?.replace(/\n$/, '').split('\n').length ?? null;
  return (
    <div class="stack">
      <LastReload />
      <Card id="policies-files" heading={plural(names.length, 'file')}>
        <Table<string>
          label="Files"
          rows={names}
          keyOf={(name) => name}
          hrefOf={(name) => fileHref(name)}
          columns={[
            { id: 'name', head: 'File', sort: true, cell: (name) => name },
            { id: 'state', head: 'State', phone: 'second', cell: stateOf },
            {
              id: 'lines',
              head: 'Lines',
              isFigure: true,
              phone: 'fact',
              sort: linesOf,
              cell: (name) => linesOf(name) ?? '–',
            },
          ]}
        />
        {mayEdit && <NewFile files={files} names={names} />}
      </Card>
      {result && result.diagnostics.length > 0 && (
        <section class="card stack-tight" aria-labelledby="policies-found">
          <h2 id="policies-found">
            {plural(result.errors, 'error')} and {plural(result.warnings, 'warning')}
            {draft.value ? ' with your edit' : ' in the files on disk'}
          </h2>
          <Diagnostics
            // Errors come first, because they are the reason why the policy is refused.
            found={result.diagnostics.toSorted(
              (one, other) => Number(other.severity === 'error') - Number(one.severity === 'error'),
            )}
            withFile
          />
        </section>
      )}
      {failure && (
        <p class="field-error" role="alert">
          The files could not be checked: <Coded text={failure.message} />
        </p>
      )}
    </div>
  );
}

const LastReload = () => (
  <Loaded what="Reloads" of={useResource('/admin/policy')} skeleton={<p class="dim">&nbsp;</p>}>
    {({ last_reload: { result, time, message }, models }) => (
      <p class="dim">
        {plural(models, 'model')} served. Last reload <When at={time} />: {result === 'refused' && 'refused. '}
        <Coded text={message} />
      </p>
    )}
  </Loaded>
);

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
  const wrong = name !== '' && !NAME.test(whole) ? 'Use letters, digits, dots, dashes and underscores.' : null;
  const error = names.includes(whole) ? `A file named ${whole} already exists.` : wrong;
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
