import type { Diagnostic } from '../../policy/diagnostics.ts';
import { inSteps } from '../../policy/steps.ts';
import { compileCandidate, isRejected, withoutValues } from '../../runtime/candidate.ts';
import { diffPolicies, findRenames, type Outline, type PolicyChange, type PolicyRename } from '../../runtime/diff.ts';
import { scrub } from '../../telemetry/secrets.ts';
import type { Side } from './compare.ts';
import { type JudgeTools, type PolicySource, toolsFor } from './tools.ts';

/** One of two compared policies, as far as it can be built. */
export interface BuiltPolicy {
  readonly place: PolicySource;
  /** The statements of its files, as far as they can be read. */
  readonly outline: Outline;
  /** Hashes of the code of its own plugins, by how it names them. */
  readonly code: ReadonlyMap<string, string>;
  /** Null where it cannot be loaded. */
  readonly side: Side | null;
  /** The errors that keep it from being loaded. */
  readonly problems: readonly Diagnostic[];
  /** An error without a place in a file; null for none. */
  readonly message: string | null;
}

/**
 * Builds a policy without running its cases. Does not check that it fits the ledger: an earlier one need not, and
 * `policy check` reports it for the next one.
 */
export async function buildSide(place: PolicySource, judge: JudgeTools): Promise<BuiltPolicy> {
  const { folder, bundle, loader } = place;
  const { ledger: _, teams: __, ...others } = judge;
  const { parsed, ...tools } = await toolsFor(folder, bundle, { ...others, loader });
  const anywhere = await compileCandidate(bundle, tools.anywhere);
  // Written by JSON.stringify of an object.
  const outline: Outline = JSON.parse(parsed.outline);
  if (isRejected(anywhere)) {
    const problems = anywhere.problems.filter(({ severity }) => severity === 'error');
    return { place, outline, code: new Map(), side: null, problems, message: anywhere.message };
  }
  const here = await compileCandidate(bundle, tools.here);
  const { runtime } = anywhere;
  const side = { cases: runtime.snapshot.cases, anywhere: runtime, here: isRejected(here) ? null : here.runtime };
  return { place, outline, code: new Map(anywhere.surroundings.plugins), side, problems: [], message: null };
}

/** Returns the differences of two policies, with secrets masked. Build both first: building registers their secrets. */
export const changesOf = (a: BuiltPolicy, b: BuiltPolicy): Generator<undefined, PolicyChange[]> =>
  inSteps([...diffPolicies(a.outline, b.outline), ...codeChanges(a, b)], withoutValues);

/** Returns the parts that were only renamed, with secrets masked. */
export function* renamesOf(a: BuiltPolicy, b: BuiltPolicy): Generator<undefined, PolicyRename[]> {
  const renames = yield* findRenames(a.outline, b.outline);
  return renames.map(({ section, from, to }) => ({ section, from: scrub(from), to: scrub(to) }));
}

/** Returns the plugins whose code differs under the same name. */
function codeChanges(a: BuiltPolicy, b: BuiltPolicy): PolicyChange[] {
  return [...a.code].flatMap(([name, from]): PolicyChange[] => {
    const to = b.code.get(name);
    if (to === undefined || to === from) return [];
    return [{ change: 'changed', section: 'plugins', name, keys: [{ key: 'code', from, to }] }];
  });
}
