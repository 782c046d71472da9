import type { SourceSpan } from '../report/diagnostics.ts';
import type { Report } from '../report/report.ts';
import { refuseForeignBreaks } from './line-breaks.ts';
import { readPlainYaml } from './plain.ts';
import { missingSpaceHint } from './slip-hints.ts';
import type { MapTree, Tree } from './tree.ts';

/** One file of a policy, or the reason why it could not be read. */
export type PolicyFile =
  | {
      /** The path that diagnostics show. */
      readonly path: string;
      readonly text: string;
    }
  | { readonly path: string; readonly text?: undefined; readonly problem: FileProblem; readonly detail: string };

export type FileProblem = 'unreadable' | 'not-utf-8' | 'too-large' | 'symlink-loop';

const PROBLEMS = {
  unreadable: ['unreadable-file', 'the file cannot be read', ''],
  'not-utf-8': ['not-utf-8', 'the file is not UTF-8 text', ''],
  'too-large': [
    'file-too-large',
    'the file is larger than 1 MiB',
    'split the file: all files of a folder form one policy',
  ],
  'symlink-loop': ['symlink-loop', 'the file is a symbolic link that leads back to itself', ''],
} as const;

/** Reads a text that is not plain YAML. A `YamlReader` reports errors, and returns null if it cannot read the text. */
export type YamlReader = (path: string, text: string, report: Report) => Tree | null;

/** Parses a file's YAML to a tree with locations. `parseFile` reports errors, and returns null if the file cannot be parsed. */
export function parseFile(file: PolicyFile, report: Report, readYaml: YamlReader): MapTree | null {
  const start: SourceSpan = { file: file.path, line: 1, column: 1, length: 1 };
  if (file.text === undefined) {
    const [code, message, hint] = PROBLEMS[file.problem];
    report.add(code, start, file.detail === '' ? message : `${message}: ${file.detail}`, { hint });
    return null;
  }
  if (refuseForeignBreaks(file.path, file.text, report)) return null;
  const tree = readPlainYaml(file.path, file.text) ?? readYaml(file.path, file.text, report);
  if (!tree || tree.kind === 'map') return tree;
  if (tree.kind === 'scalar' && tree.value === null) return { kind: 'map', entries: [], place: start };
  const hint = tree.kind === 'scalar' ? missingSpaceHint(tree.source) : undefined;
  report.add('wrong-type', tree.place, 'a policy file must be a map of sections', { expected: '`section: …`', hint });
  return null;
}
