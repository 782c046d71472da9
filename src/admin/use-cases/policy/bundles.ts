import { basename, dirname, join } from 'node:path';
import { refuse } from '../../../core/errors.ts';
import { mask } from '../../../host/telemetry/secrets.ts';
import type { PolicyFile } from '../../../policy/load.ts';
import type { Outline } from '../../../policy/runtime/diff.ts';
import { inSlices } from '../../../policy/runtime/slices.ts';
import { FILE_BYTES_MAX, FILES_MAX, hashOf, isPolicyFile, type PolicyBundle } from '../../../policy/runtime/source.ts';
import type { JudgeTools } from './tools.ts';
import { unifiedDiff } from './unified-diff.ts';

/** A file of a policy that somebody sends, with its text; null removes it. */
export interface FileChange {
  readonly name: string;
  readonly text: string | null;
}

/** A policy that somebody sends: all of its files, or those that differ from the files on disk. Neither: the files on disk. */
export interface SentPolicy {
  readonly files?: readonly FileChange[] | undefined;
  readonly changes?: readonly FileChange[] | undefined;
}

/** Most characters of all files that are sent together. */
const SENT_LENGTH_MAX = 4_194_304;

/** Letters, digits and a few signs: such a name is the same in every file system, patch and message. */
const NEW_NAME = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}\.ya?ml$/;

/** A bundle of files. Its hash depends on names and texts. */
export const bundleOf = (files: readonly PolicyFile[]): PolicyBundle => ({
  files,
  hash: hashOf(JSON.stringify(files)),
});

/** The same with names in place of paths, which stand in all answers. */
export const namedBundle = ({ files }: PolicyBundle): PolicyBundle =>
  bundleOf(files.map((file) => ({ ...file, path: basename(file.path) })));

/**
 * The policy that was sent, with names in place of paths.
 * @param disk the files on disk, which changes are of
 * @throws SignalboxError `invalid_value`
 */
export function sentBundle({ files, changes }: SentPolicy, disk: () => PolicyBundle): PolicyBundle {
  if (files && changes) refuse('changes', 'State either `files` or `changes`.');
  if (!files && !changes) return namedBundle(disk());
  if (changes) return changedBundle(namedBundle(disk()), changes);
  checkSent(files ?? [], 'files', () => false);
  return changedBundle({ files: [], hash: '' }, files ?? []);
}

/**
 * The bundle with changes; the path of a new file stands beside those of the others.
 * @throws SignalboxError `invalid_value`
 */
export function changedBundle(before: PolicyBundle, changes: readonly FileChange[]): PolicyBundle {
  const known = new Map(before.files.map((file) => [basename(file.path), file]));
  checkSent(changes, 'changes', (name) => known.has(name));
  const folder = dirname(before.files[0]?.path ?? '');
  for (const { name, text } of changes) {
    const path = known.get(name)?.path ?? (folder === '.' ? name : join(folder, name));
    if (text !== null) known.set(name, { path, text });
    else if (!known.delete(name)) refuse('changes', `There is no file \`${name}\` to remove.`);
  }
  if (known.size === 0) refuse('changes', 'A policy needs a file.');
  if (known.size > FILES_MAX) refuse('changes', `A policy may have at most ${FILES_MAX} files.`);
  return bundleOf([...known.values()].sort((a, b) => (a.path < b.path ? -1 : 1)));
}

function checkSent(sent: readonly FileChange[], param: string, isKnown: (name: string) => boolean): void {
  const names = new Set<string>();
  let length = 0;
  for (const { name, text } of sent) {
    if (!NEW_NAME.test(name) && !(isKnown(name) && isPolicyFile(name))) {
      const form = 'letters, digits, `.`, `_` and `-`, and `.yaml` or `.yml` at the end';
      refuse(param, `\`${name.slice(0, 64)}\` is no name of a policy file: it has ${form}.`);
    }
    if (names.has(name)) refuse(param, `\`${name}\` is there twice.`);
    names.add(name);
    length += text?.length ?? 0;
    if (Buffer.byteLength(text ?? '') > FILE_BYTES_MAX) refuse(param, `\`${name}\` is larger than 1 MiB.`);
    if (text !== null && !text.isWellFormed()) refuse(param, `\`${name}\` has half of a character.`);
  }
  if (length > SENT_LENGTH_MAX) refuse(param, `All texts together may have ${SENT_LENGTH_MAX} characters.`);
}

/** The statements of a policy, section by section, as far as its files can be read. */
export async function outlineOf({ files }: PolicyBundle, judge: JudgeTools): Promise<Outline> {
  const { outline } = await judge.parse(files, null);
  // Written by JSON.stringify of an object.
  return JSON.parse(outline);
}

/** The difference of the texts, with secrets masked. Made in slices: throws SupersededError once stale. */
export async function patchOf(
  before: PolicyBundle,
  after: PolicyBundle,
  isStale: () => boolean = () => false,
): Promise<string> {
  const [a, b] = [before, after].map(
    ({ files }) => new Map(files.map(({ path, text }) => [basename(path), text ?? null])),
  );
  const names = [...new Set([...a!.keys(), ...b!.keys()])].sort();
  const changes = names.map((name) => ({ name, before: a!.get(name) ?? null, after: b!.get(name) ?? null }));
  return await inSlices(unifiedDiff(changes, mask), isStale);
}
