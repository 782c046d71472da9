import type { Diagnostic } from '../../policy/diagnostics.ts';
import {
  type Candidate,
  compileCandidate,
  isRejected,
  type RejectedPolicy,
  withoutValues,
} from '../../runtime/candidate.ts';
import { diffPolicies, findRenames, type Outline, type PolicyChange, type PolicyRename } from '../../runtime/diff.ts';
import { scrub } from '../../telemetry/secrets.ts';
import type { Side } from './compare.ts';
import { generous } from './environment.ts';
import type { PolicySource } from './policy-source.ts';
import type { JudgeTools } from './tools.ts';

/** One of two policies, as far as it can be built. */
export interface Built {
  readonly place: PolicySource;
  /** What its files state; what could be read of them. */
  readonly outline: Outline;
  /** Hashes of the code of its own plugins, by how it names them. */
  readonly code: ReadonlyMap<string, string>;
  /** Null where it cannot be loaded. */
  readonly side: Side | null;
  /** Why not. */
  readonly problems: readonly Diagnostic[];
  /** What no place in a file can be named for. */
  readonly message: string | null;
}

/**
 * Builds a policy without running its cases. Whether it fits to a ledger is not looked at: an earlier one need not, and
 * `policy check` tells it of the one to come.
 */
export async function buildSide(place: PolicySource, judge: JudgeTools): Promise<Built> {
  const { ledger: _, ...tools } = { ...judge, folder: place.folder, loader: place.loader };
  const parsed = await tools.parse(place.bundle.files, null);
  const parse = () => parsed;
  const anywhere = await compileCandidate(place.bundle, { ...tools, parse, env: generous(tools.env) });
  // Written by JSON.stringify of an object.
  const outline: Outline = JSON.parse(parsed.outline);
  if (isRejected(anywhere)) {
    const { message } = anywhere;
    return { place, outline, code: new Map(), side: null, problems: errorsOf(anywhere), message };
  }
  const here = await compileCandidate(place.bundle, { ...tools, parse });
  const side: Side = {
    cases: anywhere.runtime.snapshot.cases,
    anywhere: anywhere.runtime,
    here: runtimeOf(here),
  };
  return { place, outline, code: new Map(anywhere.surroundings.plugins), side, problems: [], message: null };
}

const errorsOf = ({ problems }: RejectedPolicy): Diagnostic[] =>
  problems.filter(({ severity }) => severity === 'error');

const runtimeOf = (judged: Candidate | RejectedPolicy) => (isRejected(judged) ? null : judged.runtime);

/** What is declared otherwise, with no secret in it. Both must have been built: only then it is known what is secret. */
export function changesOf(a: Built, b: Built): PolicyChange[] {
  return [...diffPolicies(a.outline, b.outline), ...codeChanges(a, b)].map(withoutValues);
}

/** What only goes by another name, with no secret in it. */
export const renamesOf = (a: Built, b: Built): PolicyRename[] =>
  findRenames(a.outline, b.outline).map(({ section, from, to }) => ({ section, from: scrub(from), to: scrub(to) }));

/** Plugins that go by the same name and are not the same. */
function codeChanges(a: Built, b: Built): PolicyChange[] {
  return [...a.code].flatMap(([name, from]): PolicyChange[] => {
    const to = b.code.get(name);
    if (to === undefined || to === from) return [];
    return [{ change: 'changed', section: 'plugins', name, keys: [{ key: 'code', from, to }] }];
  });
}
