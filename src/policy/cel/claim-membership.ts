import type { SourceSpan } from '../report/diagnostics.ts';
import type { Report } from '../report/report.ts';
import { type ASTNode, accessesOf, literalOf, nodesOf, pathOf } from './ast.ts';
import type { CheckedExpression } from './check.ts';

/** A claim that is always an object, according to a standard or a product's documentation. */
interface ObjectClaim {
  /** Path of the claim; `*` stands for any member. */
  readonly path: readonly string[];
  /** The place where the claim is an object, as part of a sentence. */
  readonly at: string;
  /** The member of the object that holds a list of groups or roles. */
  readonly list?: string;
}

/** The table is based on OpenID Connect Core 5.1.1, RFC 7800, RFC 8693, and the documentation of Keycloak's and Kubernetes' tokens. */
const OBJECT_CLAIMS: readonly ObjectClaim[] = [
  { path: ['address'], at: 'in OpenID Connect' },
  { path: ['cnf'], at: 'in RFC 7800' },
  { path: ['act'], at: 'in RFC 8693' },
  { path: ['may_act'], at: 'in RFC 8693' },
  { path: ['realm_access'], at: 'in tokens of Keycloak', list: 'roles' },
  { path: ['resource_access'], at: 'in tokens of Keycloak' },
  { path: ['resource_access', '*'], at: 'in tokens of Keycloak', list: 'roles' },
  { path: ['kubernetes.io'], at: 'in tokens of Kubernetes' },
];

/** Macros that iterate over the entries of a list. */
const OVER_ENTRIES: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'filter', 'map']);

type Path = readonly string[];

/** The most claims reported for one issuer. */
const REPORTED_MAX = 20;

/**
 * Reports each claim in which an expression looks for a text although the claim is an object. Signalbox knows this from a standard, or
 * because another expression for the same tokens reads a member of the claim. Each such claim is reported once. An expression that tests
 * its `type(…)` is not reported.
 */
export function reviewClaims(programs: readonly CheckedExpression<unknown>[], report: Report): void {
  const members = membersRead(programs);
  const reported = new Set<string>();
  for (const program of programs) {
    const nodes = [...nodesOf(program.ast)];
    const tested = new Set(nodes.flatMap(typeTested));
    for (const node of nodes) {
      const lookup = lookupIn(node);
      if (!lookup) continue;
      const { path, collection, text } = lookup;
      const claim = written(path);
      if (tested.has(claim) || reported.has(claim)) continue;
      const stated = OBJECT_CLAIMS.find((one) => isAt(one.path, path.slice(1)));
      // An expression that uses the claim as an object and as a list expects both.
      const member = members.get(claim)?.find((one) => one.program !== program);
      if (!stated && !member) continue;
      if (reported.add(claim).size > REPORTED_MAX) return;
      const read = member && { place: member.program.placeOf(member.node) };
      addObject({ path, text, place: program.placeOf(collection), stated, member: read }, report);
    }
  }
}

/** Maps the path of a claim to the locations where a member of it is read: the first location, and the first in another expression. */
function membersRead(programs: readonly CheckedExpression<unknown>[]) {
  const found = new Map<string, { readonly program: CheckedExpression<unknown>; readonly node: ASTNode }[]>();
  for (const program of programs) {
    for (const { node, path } of accessesOf(program.ast)) {
      for (let length = 2; length < path.length; length++) {
        const owner = written(path.slice(0, length));
        const known = found.get(owner);
        if (!known) found.set(owner, [{ program, node }]);
        else if (known.length === 1 && known[0]?.program !== program) known.push({ program, node });
      }
    }
  }
  return found;
}

/**
 * Returns the claim in which a node searches, and the text that it searches for. `lookupIn` returns null for any other node, and for a
 * search in all claims.
 */
function lookupIn(node: ASTNode) {
  if (node.op !== 'in' && !(node.op === 'rcall' && OVER_ENTRIES.has(node.args[0]))) return null;
  const collection = node.args[1];
  const path = pathOf(collection);
  const text = node.op === 'in' ? literalOf(node.args[0]) : undefined;
  return path?.[0] === 'claims' && path.length > 1 ? { path, collection, text } : null;
}

/** Returns the paths whose type a node tests. */
const typeTested = (node: ASTNode): string[] =>
  node.op === 'call' && node.args[0] === 'type' ? node.args[1].map((one) => written(pathOf(one) ?? [])) : [];

const isAt = (pattern: Path, path: Path): boolean =>
  pattern.length === path.length && pattern.every((step, at) => step === '*' || step === path[at]);

interface ObjectLookup {
  readonly path: Path;
  readonly text: unknown;
  readonly place: SourceSpan;
  readonly stated: ObjectClaim | undefined;
  readonly member: { readonly place: SourceSpan } | undefined;
}

function addObject({ path, text, place, stated, member }: ObjectLookup, report: Report): void {
  const claim = written(path);
  const name = typeof text === 'string' ? text : 'NAME';
  const hint =
    stated?.list === undefined
      ? `compare a member of the object: \`${written([...path, name])} == true\``
      : `the list is a member of the object: \`"${name}" in ${written([...path, stated.list])}\``;
  const message = stated
    ? `\`${claim}\` is an object ${stated.at}, and an object never contains a text: this part fails`
    : `another expression reads \`${claim}\` as an object, and an object never contains a text: this part fails then`;
  const related = !stated && member ? { place: member.place, message: 'a member of it is read here' } : undefined;
  report.add('claim-is-object', place, message, { hint, ...(related && { related }) });
}

/** Writes a path as an expression: `claims["kubernetes.io"].namespace`. */
const written = ([owner = '', ...steps]: Path): string =>
  steps.reduce((all, step) => all + (/^[A-Za-z_]\w*$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`), owner);
