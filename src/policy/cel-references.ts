import { MODEL_CAPABILITIES } from '../core/capability.ts';
import { DIFFICULTIES } from '../core/facts.ts';
import { canonicalLanguage } from '../core/languages.ts';
import { type ASTNode, literalOf, nodesOf, pathOf } from './cel-ast.ts';
import type { CheckedExpression, Program } from './cel-check.ts';
import type { PolicyNames } from './json-schema-words.ts';
import { byNearness, didYouMean, listNames } from './nearest.ts';
import type { Report } from './report.ts';

/** The names that expressions can refer to. */
export interface ReferenceNames extends Omit<PolicyNames, 'constraints'> {
  /** The ID that a name means beyond the catalog, by a wildcard; null for none. */
  wildcard(name: string): string | null;
}

/** Reports texts compared with a field of names that are not such a name, so that the comparison is never true. */
export function checkReferences(
  { ast, placeOf }: CheckedExpression<unknown>,
  names: ReferenceNames,
  report: Report,
): void {
  for (const node of nodesOf(ast)) {
    const path = pathOf(node);
    const [owner, field, task] = path ?? [];
    if (path?.length === 3 && owner === 'model' && field === 'quality' && task !== undefined) {
      const known = ['default', ...names.tasks];
      const at = { start: node.end - task.length, end: node.end };
      if (!known.includes(task)) report.addUnknown('task', task, known, placeOf(node.op === '.' ? at : node));
    }
    for (const [literal, compared] of comparisonsOf(node)) {
      const text = literalOf(literal);
      if (typeof text === 'string') checkName(text, compared, () => placeOf(literal), names, report);
    }
  }
}

/** A hint for a tag that no model has. Such a tag alone is not an error. */
export function hintForTags(ast: ASTNode, tags: readonly string[]): string | undefined {
  for (const node of nodesOf(ast)) {
    for (const [literal, path] of comparisonsOf(node)) {
      const text = literalOf(literal);
      if (path !== 'model.tags' || typeof text !== 'string' || tags.includes(text)) continue;
      const known = listNames(byNearness(text, tags));
      return didYouMean(text, tags) ?? `no model has the tag \`${text}\`; there are ${known}`;
    }
  }
  return undefined;
}

/** Pairs of a literal and the path that it is compared with. */
export function comparisonsOf(node: ASTNode): [ASTNode, string][] {
  if (node.op !== '==' && node.op !== '!=' && node.op !== 'in') return [];
  const [left, right] = node.args;
  const leftPath = pathOf(left)?.join('.');
  const rightPath = pathOf(right)?.join('.');
  if (leftPath && right.op === 'list') return right.args.map((item) => [item, leftPath]);
  if (leftPath) return [[right, leftPath]];
  return rightPath ? [[left, rightPath]] : [];
}

function checkName(
  text: string,
  path: string,
  place: () => ReturnType<Program['placeOf']>,
  names: ReferenceNames,
  report: Report,
): void {
  const meant = path === 'request.model' ? names.aliases.get(text) : undefined;
  if (meant !== undefined) {
    report.add('unknown-reference', place(), `\`${text}\` is an alias, which rules do not see`, {
      expected: `\`${meant}\`, the name that it stands for`,
    });
    return;
  }
  const [what, known] = knownAt(path, names) ?? [];
  const isModel = path === 'request.model' || path === 'model.id';
  const covered = isModel ? names.wildcard(text) : null;
  if (covered === text && !known?.includes(text)) return;
  if (covered !== null && covered !== text && !known?.includes(text)) {
    report.add('unknown-reference', place(), `\`${text}\` is served under another name`, {
      expected: `\`${covered}\`, the model that it is`,
    });
    return;
  }
  if (what !== undefined && known && !known.includes(text)) report.addUnknown(what, text, known, place());
  if (path !== 'request.languages' && path !== 'model.languages') return;
  const canonical = canonicalLanguage(text);
  if (canonical === text) return;
  report.add('unknown-reference', place(), `there is no language \`${text}\``, {
    expected: 'the canonical name, in lower case',
    hint: `did you mean \`${canonical}\`?`,
  });
}

type KnownNames = readonly [what: string, known: readonly string[]];

/** The names that a field is compared with. */
function knownAt(path: string, { tasks, models, selectors, providers }: ReferenceNames): KnownNames | undefined {
  const byPath: Readonly<Record<string, KnownNames>> = {
    'request.task': ['task', tasks],
    'request.difficulty': ['difficulty', DIFFICULTIES],
    'request.model': ['selector or model', [...selectors, ...models]],
    'model.id': ['model', models],
    'model.provider': ['provider', providers],
    'model.providers': ['provider', providers],
    'endpoint.provider': ['provider', providers],
    'model.capabilities': ['capability', MODEL_CAPABILITIES],
  };
  return Object.hasOwn(byPath, path) ? byPath[path] : undefined;
}
