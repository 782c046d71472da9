import { type AliasNames, aliasTarget } from '../../core/policy/alias-names.ts';
import { MODEL_CAPABILITIES } from '../../core/request/capability.ts';
import { DIFFICULTIES } from '../../core/request/facts.ts';
import { canonicalLanguage } from '../../core/request/languages.ts';
import { didYouMean } from '../../core/text/text.ts';
import { byNearness, listNames, nearestHint } from '../report/nearest.ts';
import type { Report } from '../report/report.ts';
import { type ASTNode, literalOf, nodesOf, pathOf } from './ast.ts';
import type { CheckedExpression } from './check.ts';

/** The names that expressions can refer to. */
export interface ReferenceNames {
  readonly models: readonly string[];
  readonly providers: readonly string[];
  readonly selectors: readonly string[];
  /** Maps each alias to the selector or model that it stands for. */
  readonly aliases: ReadonlyMap<string, string>;
  /** Aliases that apply only to names without another meaning. */
  readonly defaultAliases: AliasNames;
  readonly tasks: readonly string[];
  readonly guards: readonly string[];
  /** Returns the ID that a name outside the catalog means through a wildcard; null for none. */
  wildcard(name: string): string | null;
}

/** Reports texts that are compared with a field of names although no such name exists, so that the comparison is never true. */
export function checkReferences(
  { ast, placeOf }: CheckedExpression<unknown>,
  names: ReferenceNames,
  report: Report,
): void {
  for (const node of nodesOf(ast)) {
    const path = pathOf(node);
    const [owner, field, task] = path ?? [];
    if (path?.length === 2 && owner === 'guards' && !names.guards.includes(field!)) {
      report.addUnknown('guard', field!, names.guards, placeOf(node));
    }
    if (path?.length !== 3 || owner !== 'model' || field !== 'quality' || task === undefined) continue;
    const known = ['default', ...names.tasks];
    const at = { start: node.end - task.length, end: node.end };
    if (!known.includes(task)) report.addUnknown('task', task, known, placeOf(node.op === '.' ? at : node));
  }
  for (const { text, path, literal } of comparedTexts(ast)) {
    const refuse = (message: string, expected: string, hint?: string) =>
      report.add('unknown-reference', placeOf(literal), message, { expected, hint });
    const [what, known] = knownAt(path, names) ?? [];
    const meant = path === 'request.model' ? aliasMeaning(text, known ?? [], names) : null;
    if (meant !== null) {
      refuse(
        `\`${text}\` is an alias, and rules see only the name that it stands for`,
        `\`${meant}\`, the name that the alias stands for`,
      );
    } else if (what !== undefined && known && !known.includes(text)) {
      const covered = path === 'request.model' || path === 'model.id' ? names.wildcard(text) : null;
      if (covered === null) report.addUnknown(what, text, known, placeOf(literal));
      else if (covered !== text)
        refuse(`\`${text}\` is another name of a model`, `\`${covered}\`, the ID of that model`);
    }
    const isLanguage = path === 'request.languages' || path === 'model.languages';
    const canonical = isLanguage ? canonicalLanguage(text) : text;
    if (canonical === text) continue;
    refuse(`there is no language \`${text}\``, 'the canonical name, in lower case', didYouMean(canonical));
  }
}

/** Returns the selector or model that an alias stands for; null for a name that is no alias. */
function aliasMeaning(name: string, known: readonly string[], names: ReferenceNames): string | null {
  const listed = names.aliases.get(name);
  if (listed !== undefined) return listed;
  return known.includes(name) || names.wildcard(name) !== null ? null : aliasTarget(names.defaultAliases, name);
}

/** Returns a hint for a tag that no model has. A tag that no model has is not an error by itself. */
export function hintForTags(ast: ASTNode, tags: readonly string[]): string | undefined {
  for (const { text, path } of comparedTexts(ast)) {
    if (path !== 'model.tags' || tags.includes(text)) continue;
    const known = listNames(byNearness(text, tags));
    return nearestHint(text, tags) ?? `no model has the tag \`${text}\`; the tags are ${known}`;
  }
  return undefined;
}

/** Iterates over the literal texts of an expression, each with the path that it is compared with. */
export function* comparedTexts(ast: ASTNode) {
  for (const node of nodesOf(ast)) {
    for (const [literal, path] of comparisonsOf(node)) {
      const text = literalOf(literal);
      if (typeof text === 'string') yield { text, path, literal };
    }
  }
}

/** Returns pairs of a literal and the path that the literal is compared with. */
function comparisonsOf(node: ASTNode): [ASTNode, string][] {
  if (node.op !== '==' && node.op !== '!=' && node.op !== 'in') return [];
  const [left, right] = node.args;
  const leftPath = pathOf(left)?.join('.');
  const rightPath = pathOf(right)?.join('.');
  if (leftPath && right.op === 'list') return right.args.map((item) => [item, leftPath]);
  if (leftPath) return [[right, leftPath]];
  return rightPath ? [[left, rightPath]] : [];
}

type KnownNames = readonly [what: string, known: readonly string[]];

/** Returns the names that a field can have. */
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
