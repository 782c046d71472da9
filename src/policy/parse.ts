import { findSecrets } from './check/secrets.ts';
import type { CheckContext } from './check/section-checks.ts';
import { type DraftContext, draftsIn } from './define/section.ts';
import { type Drafts, LANGUAGE } from './language.ts';
import { mergeFiles } from './merge.ts';
import { Report } from './report/report.ts';
import { type PolicyFile, parseFile, type YamlReader } from './yaml/parse.ts';
import { toData } from './yaml/tree.ts';

/**
 * A policy after all checks that need no plugins, expressions or environment. A parsed policy is plain data, so a worker can send it by
 * structured clone.
 */
export type ParsedPolicy = Readonly<ReturnType<typeof parseWith>>;

/** Reads and checks the files of a policy, in any order. `parseWith` is pure. @param readYaml reads the files that are not plain YAML */
export function parseWith(readYaml: YamlReader, given: readonly PolicyFile[]) {
  const report = new Report();
  const files = [...given].sort((a, b) => (a.path < b.path ? -1 : 1));
  const trees = files.map((file) => parseFile(file, report, readYaml)).filter((tree) => tree !== null);
  let isSound = report.found.length === 0;
  for (const tree of trees) findSecrets(tree, report);
  const start = { file: files[0]?.path ?? 'policies', line: 1, column: 1, length: 1 };
  const problemsBefore = report.found.length;
  const sections = mergeFiles(trees, report);
  // A section with a misspelt name may be the catalog.
  isSound &&= report.found.length === problemsBefore;
  const { drafts, converted } = draftSections({ sections, report, start }, isSound);
  return {
    /** The drafts of all sections by name. */
    drafts,
    /** The amounts of USD that limits and ceilings state. */
    converted,
    /** The bare data of every section, for comparing two revisions. */
    outline: Object.fromEntries([...sections].map(([name, { value }]) => [name, toData(value)])),
    /** The files by path, ascending. */
    files,
    /** The beginning of the policy. Missing sections are reported at the beginning of the policy. */
    start,
    /** Whether a file could not be read. Parts that seem missing may be in a file that could not be read. */
    isPartial: trees.length < files.length,
    /** The problems of the policy that were found so far, not sorted. `compilePolicy` returns all problems. */
    diagnostics: report.found,
  };
}

/** Drafts every section, after the sections that it reads. @param isSound whether the policy has all its files and sections */
function draftSections(sections: CheckContext, isSound: boolean) {
  const drafts: Record<string, unknown> = {};
  const read = draftsIn(drafts);
  const context: DraftContext = {
    ...sections,
    isSound,
    converted: [],
    of(section) {
      if (!(section.name in drafts)) drafts[section.name] = section.draft(context);
      return read(section);
    },
  };
  for (const section of LANGUAGE) context.of<unknown>(section);
  return { drafts: drafts as Drafts, converted: context.converted };
}
