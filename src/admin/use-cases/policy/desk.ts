import { basename } from 'node:path';
import type { Plugin } from '../../../contract/kinds.ts';
import { refuse, SignalboxError } from '../../../core/errors.ts';
import { isObject } from '../../../core/json/object.ts';
import { revisionOf } from '../../../core/policy/build.ts';
import type { Revision } from '../../../core/text/revision.ts';
import { messageOf } from '../../../core/thrown.ts';
import { UsageError } from '../../../core/usage-error.ts';
import { PLACEHOLDER } from '../../../policy/define/environment.ts';
import type { PolicyFile } from '../../../policy/load.ts';
import { keysIn } from '../../../policy/providers/key-pool.ts';
import type { PolicyCandidate } from '../../../policy/runtime/candidate.ts';
import { type PolicyBundle, PolicySourceError } from '../../../policy/runtime/source.ts';
import type { Principal } from '../principal.ts';
import { bundleOf, namedBundle, type SentPolicy, sentBundle } from './bundles.ts';
import type { PolicyHome } from './home.ts';
import { knownPlugins, recalling } from './place.ts';
import type { JudgeTools, PolicySource } from './tools.ts';
import type { Turns } from './turns.ts';

/** The services that policy tools use in a running server. */
export interface PolicyDesk {
  active(): PolicyCandidate;
  /** The folder of plugins with relative paths. */
  readonly folder: string;
  /** Where the policy is stored. */
  readonly home: PolicyHome;
  /** Checks policies as a reload does, but without the health and connections of providers. Parses in a worker. */
  readonly judge: JudgeTools;
  /** @returns null for an unknown revision. Rejects with StoreError. */
  findRevision(revision: string): Promise<Revision | null>;
  /** @returns the revisions with this beginning. Rejects with StoreError. */
  revisionsLike(beginning: string): Promise<readonly string[]>;
  readonly turns: Turns;
}

/**
 * Returns tools that check a policy from a request without running its code or reading secrets. The tools load only plugins of the active
 * policy. The tools can see whether a variable is set if the active policy or a preset names the variable, but never its value.
 */
export function judgeOfSent({ judge, active }: PolicyDesk, isStale: () => boolean): JudgeTools {
  const candidate = active();
  const named = new Set([...variablesIn(JSON.parse(candidate.outline)), ...presetVariables(judge.shipped)]);
  // A variable of a pool may hold several keys, and the policy then has an endpoint for each.
  const get = (name: string) => {
    const lines = named.has(name) ? keysIn(judge.env.get(name)) : [];
    return lines.length === 0 ? undefined : lines.map(() => PLACEHOLDER).join('\n');
  };
  const sourced = (name: string) => {
    const source = judge.env.sourced?.(name);
    return source && { ...source, token: () => null };
  };
  const loader = knownPlugins(candidate.surroundings.plugins, judge.loader, (isKnown) =>
    isKnown ? 'its code has changed since the server started' : NOT_IN_FORCE,
  );
  return { ...judge, env: { get, sourced }, loader, isStale };
}

/** Returns the values of all keys that name a variable, in any section. */
function variablesIn(data: unknown): string[] {
  if (Array.isArray(data)) return data.flatMap(variablesIn);
  if (!isObject(data)) return [];
  return Object.entries(data).flatMap(([key, value]) => {
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    const names = key.endsWith('_env') ? values.filter((one) => typeof one === 'string') : [];
    return [...names, ...variablesIn(value)];
  });
}

const presetVariables = (plugins: readonly Plugin[]): string[] =>
  plugins.flatMap((plugin) =>
    plugin.kind === 'provider'
      ? Object.values(plugin.presets ?? {}).flatMap(({ apiKeyEnv, baseUrlEnv }) => [apiKeyEnv ?? '', baseUrlEnv ?? ''])
      : [],
  );

const NOT_IN_FORCE =
  'it is not in the active policy, and a policy sent by HTTP can run no other code. To run it, use `policy check` on the command line';

/** Parses policies in a worker, one at a time. Refuses a policy that takes the worker too long. */
export function oneAtATime(parse: JudgeTools['parse']): JudgeTools['parse'] {
  let last: Promise<unknown> = Promise.resolve();
  return (files, before) => {
    const parsed = last.then(() => parse(files, before));
    last = parsed.catch(() => {});
    return parsed.catch((cause) => {
      throw new UsageError(messageOf(cause));
    });
  };
}

/** Runs a tool of the command line for an HTTP request. @throws SignalboxError */
export async function orRefused<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    if (!(cause instanceof UsageError)) throw cause;
    throw new SignalboxError('invalid_value', cause.message, { cause });
  }
}

/** Waits until it is the request's turn, and then runs a tool on the request. @throws SignalboxError */
export const atDesk = <Result>(
  by: Principal,
  desk: PolicyDesk,
  work: (judge: JudgeTools, isStale: () => boolean) => Promise<Result>,
): Promise<Result> =>
  desk.turns.take(by.caller.keyId, (isStale) => orRefused(() => work(judgeOfSent(desk, isStale), isStale)));

/** Returns the files on disk, or the files that were pushed last. @throws SignalboxError `conflict` if the files cannot be read */
export async function filesOnDisk({ home }: Pick<PolicyDesk, 'home'>): Promise<PolicyBundle> {
  try {
    return await home.read();
  } catch (cause) {
    if (!(cause instanceof PolicySourceError)) throw cause;
    throw new SignalboxError('conflict', cause.message.replace('; name another with --policies', ''), { cause });
  }
}

/** A policy that a request names: a stored revision, files in the request, or the files on disk. */
export interface NamedPolicy extends SentPolicy {
  readonly revision?: string | undefined;
}

/** Returns the policy that a request names. @param named null for the active policy. @throws SignalboxError */
export async function sourceOf(named: NamedPolicy | null, desk: PolicyDesk, judge: JudgeTools): Promise<PolicySource> {
  const { folder, active } = desk;
  const { loader } = judge;
  if (named === null) {
    const { bundle, runtime } = active();
    return { label: runtime.snapshot.revision, kind: 'revision', bundle: namedBundle(bundle), folder, loader };
  }
  const { revision, ...sent } = named;
  if (revision !== undefined) {
    if (sent.files || sent.changes) {
      refuse('revision', 'Send either `revision` or files, not both.');
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

/**
 * Finds a stored revision by its first digits.
 * @throws SignalboxError `not_found`
 */
export async function storedRevision(
  { findRevision, revisionsLike }: Pick<PolicyDesk, 'findRevision' | 'revisionsLike'>,
  beginning: string,
): Promise<Revision> {
  const name = revisionOf(beginning);
  const builds = /^[0-9a-f]{6,16}$/.test(name) ? await revisionsLike(name) : [];
  // The builds of one revision have the same files.
  const found = builds.filter((build) => revisionOf(build) === revisionOf(builds[0]!));
  if (found.length < builds.length) {
    const message = `More than one stored revision begins with ${beginning}. Give more of its digits.`;
    throw new SignalboxError('conflict', message);
  }
  const revision = found[0] === undefined ? null : await findRevision(found[0]);
  if (revision) return { ...revision, revision: revisionOf(revision.revision) };
  throw new SignalboxError('not_found', 'No stored revision of the policy has this name.');
}

/** The files of a stored revision, with names instead of paths. */
export function revisionBundle({ source }: Revision): PolicyBundle {
  // Only the server writes this text.
  const files: readonly PolicyFile[] = JSON.parse(source);
  return bundleOf(files.map((file) => ({ ...file, path: basename(file.path) })));
}

/** A stored revision with its plugins. A plugin is available only if its loaded code is the same as when the revision was active. */
export const revisionSource = (revision: Revision, folder: string, { loader }: JudgeTools): PolicySource => ({
  label: revision.revision,
  kind: 'revision',
  bundle: revisionBundle(revision),
  folder,
  loader: { ...loader, load: recalling(revision, loader) },
});
