import { scrub, scrubAll } from '../../../host/telemetry/secrets.ts';
import { type Diagnostic, diagnosticsBody } from '../../../policy/report/diagnostics.ts';
import { inSteps } from '../../../policy/report/steps.ts';
import { compileCandidate, isRejected, withoutValues } from '../../../policy/runtime/candidate.ts';
import {
  diffPolicies,
  findRenames,
  type Outline,
  type PolicyChange,
  type PolicyRename,
} from '../../../policy/runtime/diff.ts';
import { inSlices } from '../../../policy/runtime/slices.ts';
import { patchOf } from './bundles.ts';
import {
  type ComparedCase,
  compareCases,
  figuresBody,
  isRefused,
  isSame,
  NO_TOTALS,
  plus,
  type RequestOutcome,
  type Side,
  type Totals,
  withOutcomes,
} from './compare.ts';
import { compareRequests } from './diff-requests.ts';
import { findPlace, folderPlace } from './place.ts';
import { createScratch } from './scratch.ts';
import { type JudgeTools, type PolicySource, type PolicyWorkspace, toolsFor } from './tools.ts';

/** The difference of two policies. `renamed` lists items that were removed under one name and added unchanged under another. */
export type PolicyDifference = Awaited<ReturnType<typeof differenceOf>>;

/** The policies and requests to compare. */
export interface DiffQuery {
  /** A folder, a revision or a commit. */
  readonly a: string;
  /** A folder, a revision or a commit; undefined for the folder of the workspace. */
  readonly b: string | undefined;
  /** A file with a request on each line; `-` for the standard input. */
  readonly requests: string | undefined;
}

/** Compares the declarations of two policies, and their decisions if both can be loaded. Throws UsageError. */
export async function diffPolicy({ a, b, requests }: DiffQuery, workspace: PolicyWorkspace) {
  using scratch = createScratch();
  const { folder, judge } = workspace;
  const first = await findPlace(a, workspace, scratch);
  const earlier = await buildSide(first, judge);
  const second = await (b === undefined ? folderPlace(folder, workspace) : findPlace(b, workspace, scratch));
  const later = await buildSide(second, judge);
  return await differenceOf(earlier, later, requests, judge.isStale);
}

/** Compares two built policies, and the outcomes of the requests in a file if a file is named. */
export async function differenceOf(
  a: BuiltPolicy,
  b: BuiltPolicy,
  requests: string | undefined,
  isStale: () => boolean = () => false,
) {
  const changes = await inSlices(changesOf(a, b), isStale);
  const renamed = await inSlices(renamesOf(a, b), isStale);
  const sides = a.side && b.side && { a: a.side, b: b.side };
  // The decisions are null if one of the policies cannot be loaded.
  const decisions = sides && (await decideBoth(sides.a, sides.b, requests, isStale));
  return { a, b, changes, renamed, decisions };
}

async function decideBoth(a: Side, b: Side, file: string | undefined, isStale: () => boolean) {
  const cases = await inSlices(compareCases(a, b), isStale);
  return {
    cases,
    caseTotals: cases.reduce<Totals>((totals, one) => withOutcomes(totals, one.a, one.b), NO_TOTALS),
    requests: file === undefined ? null : await compareRequests(file, a, b),
    // The value of a Credit in USD, in each policy.
    worth: { a: a.anywhere.snapshot.usdPerCredit, b: b.anywhere.snapshot.usdPerCredit },
  };
}

/** A compared policy, as far as it can be built. */
export interface BuiltPolicy {
  readonly place: PolicySource;
  /** The declarations of the policy, as far as its files can be read. */
  readonly outline: Outline;
  /** Hashes of the code of the policy's own plugins, by the name in the policy. */
  readonly code: ReadonlyMap<string, string>;
  /** The side is null if the policy cannot be loaded. */
  readonly side: Side | null;
  /** The errors that prevent the policy from being loaded. */
  readonly problems: readonly Diagnostic[];
  /** An error that has no location in a file; null if there is no such error. */
  readonly message: string | null;
}

/**
 * Builds a policy without running its cases. Does not check whether the policy fits the ledger: an earlier policy need not fit, and `policy
 * check` reports a next policy that does not fit.
 */
export async function buildSide(place: PolicySource, judge: JudgeTools): Promise<BuiltPolicy> {
  const { folder, bundle, loader } = place;
  const { ledger: _, teams: __, ...others } = judge;
  const { parsed, ...tools } = await toolsFor(folder, bundle, { ...others, loader });
  const anywhere = await compileCandidate(bundle, tools.anywhere);
  // The worker wrote this text with JSON.stringify from an object.
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

/**
 * Returns the differences of two policies, with secrets masked. The caller must build both policies first, because building a policy
 * registers its secrets for masking.
 */
const changesOf = (a: BuiltPolicy, b: BuiltPolicy): Generator<undefined, PolicyChange[]> =>
  inSteps([...diffPolicies(a.outline, b.outline), ...codeChanges(a, b)], withoutValues);

/** Returns the items that were only renamed, with secrets masked. */
function* renamesOf(a: BuiltPolicy, b: BuiltPolicy): Generator<undefined, PolicyRename[]> {
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

/** The cases that are decided differently or no longer hold. */
export const changedCases = (cases: readonly ComparedCase[]): ComparedCase[] =>
  cases.filter(({ a, b, broken }) => !isSame(a, b) || broken.length > 0);

/**
 * The difference, with secrets masked, as commands print it and the API returns it. Throws SupersededError when the result is no longer
 * needed.
 */
export async function differenceBody(
  { a, b, changes, renamed, decisions }: PolicyDifference,
  isStale: () => boolean = () => false,
) {
  const requests = decisions?.requests ?? null;
  const body = scrubAll({
    a: sideJson(a),
    b: sideJson(b),
    renamed,
    usd_per_credit: decisions && { a: Number(decisions.worth.a), b: Number(decisions.worth.b) },
    cases: decisions && changedCases(decisions.cases).map(caseJson),
    requests: requests?.different.map(({ a, b, ...request }) => ({ ...request, ...answersJson(a, b) })) ?? null,
    requests_left_out: requests?.leftOut ?? 0,
    moves:
      requests?.moves.map((move) => ({ from: goalJson(move.a), to: goalJson(move.b), ...totalsJson(move.totals) })) ??
      null,
    totals: decisions && {
      cases: {
        ...totalsJson(decisions.caseTotals),
        broken: decisions.cases.filter(({ broken }) => broken.length > 0).length,
      },
      requests: requests && totalsJson(requests.totals),
    },
  });
  // Two policies may differ in thousands of places, so the changes are masked in slices.
  const masked = await inSlices(inSteps(changes, scrubAll<PolicyChange>), isStale);
  return { ...body, changes: masked, patch: await patchOf(a.place.bundle, b.place.bundle, isStale) };
}

const sideJson = ({ place, side, problems, message }: BuiltPolicy) => ({
  name: place.label,
  kind: place.kind,
  loaded: side !== null,
  ...(side === null && { message, ...diagnosticsBody(problems, place.bundle.files) }),
});

const caseJson = ({ case: one, of, isReworded, a, b, broken }: ComparedCase) => ({
  name: one.name,
  file: one.place.file,
  line: one.place.line,
  of,
  asks_otherwise: isReworded,
  broken: broken.map(({ key, wanted, got }) => ({ key, expected: wanted, got })),
  ...answersJson(a, b),
});

const answersJson = (a: RequestOutcome, b: RequestOutcome) => ({
  a: answerJson(a),
  b: answerJson(b),
  difference: isRefused(a) || isRefused(b) ? null : figuresBody(plus(b, a, -1), 1),
});

function answerJson(answer: RequestOutcome) {
  if (isRefused(answer)) return { refused: answer.code, message: answer.message };
  const { model, provider, reason } = answer;
  return { model, provider, reason, ...figuresBody(answer, 1) };
}

const goalJson = (answer: RequestOutcome) =>
  isRefused(answer) ? { refused: answer.code } : { model: answer.model, provider: answer.provider };

/** The figures cover the requests that both policies answer. */
function totalsJson({ requests, different, refusedA, refusedB, answered, a, b }: Totals) {
  return {
    count: requests,
    different,
    answered_by_both: answered,
    a: { refused: refusedA, ...figuresBody(a, answered) },
    b: { refused: refusedB, ...figuresBody(b, answered) },
  };
}
