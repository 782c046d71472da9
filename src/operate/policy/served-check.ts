import { basename } from 'node:path';
import { SignalboxError } from '../../core/errors.ts';
import { objectOf } from '../../core/object.ts';
import { DIAGNOSTICS, type Diagnostic, diagnosticsJson } from '../../policy/diagnostics.ts';
import { excerptOf, sourceLines } from '../../policy/excerpt.ts';
import type { Outline } from '../../runtime/diff.ts';
import { inSlices } from '../../runtime/slices.ts';
import { type PolicyBundle, PolicySourceError } from '../../runtime/source.ts';
import { mask, scrubAll } from '../../telemetry/secrets.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';
import { namedBundle, type SentPolicy, sentBundle } from './bundles.ts';
import { checkBody, checkBundle } from './check.ts';
import { summaryOf } from './coverage.ts';
import { judgeOfSent, orRefused, type PolicyDesk, revisionSource, storedRevision } from './desk.ts';
import { differenceOf } from './diff.ts';
import { differenceBody } from './diff-body.ts';
import { buildSide } from './diff-side.ts';
import { guardedChanges } from './guarded.ts';
import { settingsOfBundle } from './settings.ts';
import { testBody } from './test-body.ts';
import { coverageOf, runCases } from './test-run.ts';
import type { JudgeTools, PolicySource } from './tools.ts';
import { unifiedDiff } from './unified-diff.ts';

/** A policy of a request: a stored revision, one that was sent, or the files on disk. */
export interface NamedPolicy extends SentPolicy {
  readonly revision?: string;
}

/** The files on disk, or those that were pushed last. @throws SignalboxError `conflict` where they cannot be read */
export async function filesOnDisk({ home }: Pick<PolicyDesk, 'home'>): Promise<PolicyBundle> {
  try {
    return await home.read();
  } catch (cause) {
    if (!(cause instanceof PolicySourceError)) throw cause;
    throw new SignalboxError('conflict', cause.message.replace('; name another with --policies', ''), { cause });
  }
}

/** The statements of a policy, section by section, as far as its files can be read. */
export async function outlineOf({ files }: PolicyBundle, judge: JudgeTools): Promise<Outline> {
  const { outline } = await judge.parse(files, null);
  // Written by JSON.stringify of an object.
  return JSON.parse(outline);
}

/** Checks a policy as `policy check` does. @param today the day, such as `2026-10-07` */
export async function checkServed(by: Principal, desk: PolicyDesk, sent: SentPolicy, today: string) {
  checkAction(by.caller, 'policy.check');
  return await desk.turns.take(by.caller.keyId, (isStale) =>
    orRefused(async () => {
      const disk = await filesOnDisk(desk);
      const bundle = sentBundle(sent, () => disk);
      const judge = judgeOfSent(desk, isStale);
      const body = checkBody(await checkBundle('the policy', bundle, judge, today));
      const guarded = guardedChanges(await outlineOf(disk, judge), await outlineOf(bundle, judge));
      return { ...body, diagnostics: framed(body.diagnostics, bundle), guarded };
    }),
  );
}

/** The cases to run, and where. */
export interface TestTerms {
  /** A part of their names; null for all. */
  readonly text: string | null;
  /** Only with the variables that are set here. */
  readonly onlyHere: boolean;
}

/** Runs the cases of a policy as `policy test` does, with their coverage. */
export async function testServed(by: Principal, desk: PolicyDesk, sent: SentPolicy, { text, onlyHere }: TestTerms) {
  checkAction(by.caller, 'policy.check');
  return await desk.turns.take(by.caller.keyId, (isStale) =>
    orRefused(async () => {
      const disk = await filesOnDisk(desk);
      const bundle = sentBundle(sent, () => disk);
      const settings = await settingsOfBundle('the policy', bundle, judgeOfSent(desk, isStale), onlyHere);
      const { diagnostics, ...counts } = diagnosticsJson(settings.problems);
      const found = { ...counts, diagnostics: framed(diagnostics, bundle) };
      if (settings.problems.length > 0) {
        return { ...found, counts: null, settings: [], left_out_here: settings.missing, cases: [], coverage: null };
      }
      const results = await inSlices(runCases(settings, text), isStale);
      const coverage = summaryOf(await inSlices(coverageOf(settings, results), isStale), null);
      return { ...found, ...objectOf(scrubAll(testBody(settings, results, coverage))) };
    }),
  );
}

/** Compares two policies as `policy diff` does. @param a null for that in force */
export async function diffServed(by: Principal, desk: PolicyDesk, a: NamedPolicy | null, b: NamedPolicy) {
  checkAction(by.caller, 'policy.check');
  return await desk.turns.take(by.caller.keyId, (isStale) =>
    orRefused(async () => {
      const judge = judgeOfSent(desk, isStale);
      const earlier = await sourceOf(a, desk, judge);
      const later = await sourceOf(b, desk, judge);
      const difference = await differenceOf(
        await buildSide(earlier, judge),
        await buildSide(later, judge),
        undefined,
        isStale,
      );
      const patch = await patchOf(earlier.bundle, later.bundle, isStale);
      return { ...(await inSlices(differenceBody(difference), isStale)), patch };
    }),
  );
}

/** The policy that a request names. @param named null for that in force. @throws SignalboxError */
export async function sourceOf(named: NamedPolicy | null, desk: PolicyDesk, judge: JudgeTools): Promise<PolicySource> {
  const { folder, inForce } = desk;
  const { loader } = judge;
  if (named === null) {
    const { bundle, runtime } = inForce();
    return { label: runtime.snapshot.revision, kind: 'revision', bundle: namedBundle(bundle), folder, loader };
  }
  const { revision, ...sent } = named;
  if (revision !== undefined) {
    if (sent.files || sent.changes) {
      throw new SignalboxError('invalid_value', 'State either `revision` or files.', { param: 'revision' });
    }
    return revisionSource(await storedRevision(desk, revision), folder, judge);
  }
  const isSent = sent.files !== undefined || sent.changes !== undefined;
  const disk = sent.files ? null : await filesOnDisk(desk);
  const bundle = sentBundle(sent, () => disk ?? { files: [], hash: '' });
  return {
    label: isSent ? 'the files sent' : 'the files on disk',
    kind: isSent ? 'bundle' : 'folder',
    bundle,
    folder,
    loader,
  };
}

/** The difference of the texts, with secrets masked. Made in slices: throws SupersededError once stale. */
export async function patchOf(before: PolicyBundle, after: PolicyBundle, isStale: () => boolean): Promise<string> {
  const [a, b] = [before, after].map(
    ({ files }) => new Map(files.map(({ path, text }) => [basename(path), text ?? null])),
  );
  const names = [...new Set([...a!.keys(), ...b!.keys()])].sort();
  const changes = names.map((name) => ({ name, before: a!.get(name) ?? null, after: b!.get(name) ?? null }));
  return await inSlices(unifiedDiff(changes, mask), isStale);
}

/** Diagnostics with the line that each is about, in a form for people. */
export function framed(found: readonly Diagnostic[], { files }: PolicyBundle) {
  const lines = sourceLines(
    files,
    found.filter(({ code }) => code === 'secret'),
  );
  return found.map((one) => ({
    ...one,
    end_column: one.column + one.length,
    frame: excerptOf(one, lines),
    help: DIAGNOSTICS[one.code],
  }));
}
