import { type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { mapOf } from '../../core/define/fields.ts';
import { VARIABLE_NAME } from '../../core/define/policy-words.ts';
import type { SourcedKey } from '../../core/policy/sourced-key.ts';
import { HOSTS, type SourceKind } from '../../host/credentials/source.ts';
import { SOURCES } from '../../host/credentials/sources.ts';
import { readSecretFile } from '../../host/secret-file.ts';
import { findSecrets } from '../check/secrets.ts';
import { checkNamed } from '../check/section-checks.ts';
import type { PolicyFile } from '../load.ts';
import type { Diagnostic } from '../report/diagnostics.ts';
import { Report } from '../report/report.ts';
import { parseFile, type YamlReader } from '../yaml/parse.ts';
import { type Tree, valueAt } from '../yaml/tree.ts';

/** A variable of the credentials file, with its token source. */
export interface StatedSource {
  readonly variable: string;
  readonly kind: SourceKind;
  readonly hosts: readonly string[];
  /** The entry, which satisfies the schema of its kind. */
  readonly stated: object;
}

/** What the credentials file says. `sources` is empty if any of it is wrong. */
export interface CredentialsFile {
  readonly sources: readonly StatedSource[];
  readonly problems: readonly Diagnostic[];
  /** The file for excerpts in messages. */
  readonly file: PolicyFile;
}

const SECTION = 'credentials';

/** The schema of an entry whose kind is not known. */
const ANY_SOURCE = Type.Object({
  source: Type.Union(
    SOURCES.map(({ name }) => Type.Literal(name)),
    { examples: ['aws'], description: 'Where the tokens come from.' },
  ),
});

const WITH_HOSTS = Type.Object({ hosts: HOSTS });

/** The whole file, for editors. */
export const CredentialsText = Type.Object(
  {
    [SECTION]: mapOf(
      Type.Union(SOURCES.map(({ text }) => text)),
      'Variable → the source of its tokens. Policies name the variable in `api_key_env`.',
    ),
  },
  { additionalProperties: false, description: 'The token sources of a Signalbox server.' },
);

const kindOf = (entry: Tree): SourceKind | undefined => {
  const source = valueAt(entry, 'source');
  return SOURCES.find(({ name }) => source?.kind === 'scalar' && source.value === name);
};

/** Reads and checks the credentials file. @param readYaml reads a file that is not plain YAML */
export function readCredentials(path: string, readYaml: YamlReader): CredentialsFile {
  const report = new Report();
  const found = readSecretFile(path);
  const file: PolicyFile =
    'problem' in found ? { path, problem: 'unreadable', detail: found.problem } : { path, text: found.value };
  const tree = parseFile(file, report, readYaml);
  if (tree) findSecrets(tree, report);
  const sections = new Map((tree?.entries ?? []).map((entry) => [entry.key, entry]));
  for (const { key, place } of sections.values())
    if (key !== SECTION)
      report.add('unknown-key', place, `there is no section \`${key}\``, { expected: `\`${SECTION}\`` });
  const start = { file: path, line: 1, column: 1, length: 1 };
  if (tree && !sections.has(SECTION))
    report.add('missing-key', start, `the credentials file needs the key \`${SECTION}\``, {
      hint: 'begin it with `credentials:`, and state a variable with its source below',
    });
  const schemaOf = (entry: Tree): TSchema => kindOf(entry)?.text ?? ANY_SOURCE;
  const named = checkNamed<TSchema>(SECTION, schemaOf, { sections, report, start }, { form: VARIABLE_NAME });
  const sources = named.flatMap(({ name: variable, tree: entry, data }) => {
    const kind = kindOf(entry);
    return kind && Value.Check(WITH_HOSTS, data) ? [{ variable, kind, hosts: data.hosts, stated: data }] : [];
  });
  return { sources: report.failed ? [] : sources, problems: report.sorted(), file };
}

/** Returns the keys of the file for checks of a policy. Only a server fetches their tokens. */
export function statedKeys({ sources, file }: CredentialsFile) {
  const keys = sources.map(({ variable, hosts }): [string, SourcedKey] => {
    const problem = () => 'only a running server fetches it';
    return [variable, { variable, hosts, file: file.path, token: () => null, problem }];
  });
  const byVariable = new Map(keys);
  return { find: (variable: string): SourcedKey | undefined => byVariable.get(variable) };
}
