import { UsageError } from '../../core/usage-error.ts';
import type { LanguageVersion } from '../../policy/versions.ts';
import { inSlices } from '../../runtime/slices.ts';
import { hashOf } from '../../runtime/source.ts';
import { compareCases, NO_TOTALS, type Side, type Totals, withOutcomes } from './compare.ts';
import { compareRequests } from './diff-requests.ts';
import { type BuiltPolicy, buildSide, changesOf, renamesOf } from './diff-side.ts';
import { findPlace, folderPlace } from './place.ts';
import { createScratch } from './scratch.ts';
import type { PolicySource, PolicyWorkspace } from './tools.ts';

/** Two policies, side by side. `renamed` has the changes that only rename: removed under one name, added under another. */
export type PolicyDifference = Awaited<ReturnType<typeof differenceOf>>;

/** The policies and requests to compare. */
export interface DiffQuery {
  /** A folder, a revision or a commit. */
  readonly a: string;
  /** The same; the workspace's folder if undefined. */
  readonly b: string | undefined;
  /** If given, the second policy is the first, read as this version of the language. */
  readonly asVersion?: LanguageVersion;
  /** A file with a request on each line; `-` for the standard input. */
  readonly requests: string | undefined;
}

/** Compares the declarations of two policies, and their decisions where both can be loaded. Throws UsageError. */
export async function diffPolicy({ a, b, asVersion, requests }: DiffQuery, workspace: PolicyWorkspace) {
  using scratch = createScratch();
  const { folder, judge } = workspace;
  const first = await findPlace(a, workspace, scratch);
  const earlier = await buildSide(first, judge);
  const named = () => (b === undefined ? folderPlace(folder, workspace) : findPlace(b, workspace, scratch));
  const later = await buildSide(asVersion === undefined ? await named() : inVersion(first, asVersion), judge);
  if (asVersion !== undefined && later.outline.version !== asVersion) {
    const message = `${first.label} cannot be read as version ${asVersion}: write \`version: ${earlier.outline.version}\` on a line of its own.`;
    throw new UsageError(message);
  }
  return await differenceOf(earlier, later, requests, judge.isStale);
}

/** Compares two policies that were built, and the outcomes of a file of requests, if one is named. */
export async function differenceOf(
  a: BuiltPolicy,
  b: BuiltPolicy,
  requests: string | undefined,
  isStale: () => boolean = () => false,
) {
  const changes = await inSlices(changesOf(a, b), isStale);
  const renamed = await inSlices(renamesOf(a, b), isStale);
  const sides = a.side && b.side && { a: a.side, b: b.side };
  // Null where one of the policies cannot be loaded.
  const decisions = sides && (await decideBoth(sides.a, sides.b, requests, isStale));
  return { a, b, changes, renamed, decisions };
}

/** The same policy, with another version of the language in the line that states it. */
function inVersion(place: PolicySource, version: LanguageVersion): PolicySource {
  const restated = (text: string) => text.replace(/^version: *\d+/m, `version: ${version}`);
  const files = place.bundle.files.map((file) =>
    file.text === undefined ? file : { ...file, text: restated(file.text) },
  );
  const label = `${place.label} as version ${version}`;
  return { ...place, label, bundle: { files, hash: hashOf(JSON.stringify(files)) } };
}

async function decideBoth(a: Side, b: Side, file: string | undefined, isStale: () => boolean) {
  const cases = await inSlices(compareCases(a, b), isStale);
  return {
    cases,
    caseTotals: cases.reduce<Totals>((totals, one) => withOutcomes(totals, one.a, one.b), NO_TOTALS),
    requests: file === undefined ? null : await compareRequests(file, a, b),
    // USD of a Credit.
    worth: { a: a.anywhere.snapshot.usdPerCredit, b: b.anywhere.snapshot.usdPerCredit },
  };
}
