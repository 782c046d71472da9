import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { shippedPolicy } from '../policy/support.ts';

/** The content of the guide's pages for their tests: the files of their tasks, and their shell blocks. */
const PAGE = ['guide', 'limit-callers', 'any-model', 'choosing', 'editing']
  .map((name) => readFileSync(join(import.meta.dir, `../../docs/policies/${name}.md`), 'utf8'))
  .join('\n');

/** A policy file as text. */
export interface TextFile {
  readonly path: string;
  readonly text: string;
}

type Data = Readonly<Record<string, unknown>>;
interface GuideCase {
  readonly name: string;
  readonly expect: Data;
}
/** A file of the guide, and the content of each of its keys. */
export interface GuideFile extends TextFile {
  readonly sections: Data;
  readonly cases: readonly GuideCase[];
}

export const GUIDE: readonly GuideFile[] = [...PAGE.matchAll(/^```yaml policy (\S+)\n([\s\S]*?)^```$/gm)].map(
  ([, path = '', text = '']) => {
    const { cases = [], ...sections } = parse(text) as { cases?: readonly GuideCase[] };
    return { path, text, sections, cases };
  },
);

export const SCRIPTS: readonly string[] = [...PAGE.matchAll(/^```sh run\n([\s\S]*?)^```$/gm)].map(
  ([, text = '']) => text,
);

const isData = (value: unknown): value is Data => typeof value === 'object' && value !== null;

/** Returns the shipped policy without the single values that these files set, because only one file may set a value. */
export function shippedBeside(files: readonly TextFile[]): TextFile[] {
  const stated = files.flatMap(({ text }) => Object.entries<unknown>(parse(text)));
  const values = new Set(stated.filter(([, value]) => !isData(value)).map(([key]) => key));
  const isKept = (line: string) => !values.has(/^(\w+): /.exec(line)?.[1] ?? '');
  return shippedPolicy().map(({ path, text }) => ({ path, text: text.split('\n').filter(isKept).join('\n') }));
}

/** A file of the guide without one rule, condition, model or value. */
export interface Weakened {
  readonly what: string;
  readonly file: TextFile;
}

/** Returns every way to remove something that the file's cases prove. Each case keeps a line of its own, in order. */
export function weakened(guide: GuideFile): Weakened[] {
  const { sections, cases } = guide;
  const ways = Object.entries(sections).flatMap(([key, value]) => waysOf(key, value));
  // A file with only cases describes the shipped policy. Each case is changed to expect something else.
  if (Object.keys(sections).length === 0) {
    const turned = cases.map((each) => ({ ...each, expect: { ...each.expect, task: 'translation' } }));
    return [{ what: 'another task', file: fileOf({}, turned) }];
  }
  return ways.map(([what, changed]) => ({ what, file: fileOf({ ...sections, ...changed }, cases) }));
}

type Way = readonly [what: string, changed: Data];

function waysOf(key: string, value: unknown): Way[] {
  // A provider is tested through its models. Cases know neither the ledger nor rates; a server test shows these.
  if (['providers', 'teams', 'budgets', 'rate_limits'].includes(key)) return [];
  if (!isData(value)) return [[`the ${key} that is shipped`, { [key]: undefined }]];
  if (Array.isArray(value)) return value.flatMap((rule: Data, at) => rulesLess(key, value, rule, at));
  return Object.entries(value).map(([name, stated]) => {
    const plain = key === 'selectors' && isData(stated) ? { strategy: stated.strategy } : undefined;
    return [`${key}.${name} ${plain ? 'by its strategy alone' : 'gone'}`, { [key]: { ...value, [name]: plain } }];
  });
}

function rulesLess(key: string, rules: readonly Data[], rule: Data, at: number): Way[] {
  const { name, when, ...always } = rule;
  const idle = key === 'constraints' ? { name, require: 'true' } : { ...rule, worth: 0 };
  const ways: Way[] = [[`${name} without an effect`, { [key]: rules.with(at, idle) }]];
  if (when !== undefined) ways.push([`${name} at all times`, { [key]: rules.with(at, { name, ...always }) }]);
  return ways;
}

function fileOf(sections: Data, cases: readonly GuideCase[]): TextFile {
  const lines = Object.entries(sections)
    .map(([key, value]) => [key, JSON.stringify(value)])
    .filter(([, text]) => text !== undefined && text !== '{}')
    .map(([key, text]) => `${key}: ${text}`);
  const items = cases.map((each) => `  - ${JSON.stringify(each)}`);
  return { path: 'weakened.yaml', text: [...lines, 'cases:', ...items, ''].join('\n') };
}
