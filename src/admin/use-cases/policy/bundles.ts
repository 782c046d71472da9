import { basename, dirname, join } from 'node:path';
import { refuse } from '../../../core/errors.ts';
import { mask } from '../../../host/telemetry/secrets.ts';
import type { PolicyFile } from '../../../policy/load.ts';
import type { Outline } from '../../../policy/runtime/diff.ts';
import { inSlices } from '../../../policy/runtime/slices.ts';
import { FILE_BYTES_MAX, FILES_MAX, hashOf, isPolicyFile, type PolicyBundle } from '../../../policy/runtime/source.ts';
import type { JudgeTools } from './tools.ts';
import { unifiedDiff } from './unified-diff.ts';

/** A file of a policy in a request, with its text; null removes the file. */
export interface FileChange {
  readonly name: string;
  readonly text: string | null;
}

/** A policy in a request: all its files, or only those that differ from the disk. A request without files means the files on disk. */
export interface SentPolicy {
  readonly files?: readonly FileChange[] | undefined;
  readonly changes?: readonly FileChange[] | undefined;
}

/** The most characters of all files in a request together. */
const SENT_LENGTH_MAX = 4_194_304;

/** A name with only these characters is the same in every file system, patch and message. */
const NEW_NAME = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}\.ya?ml$/;

/** A bundle of files. The hash of a bundle depends on the names and texts of its files. */
export const bundleOf = (files: readonly PolicyFile[]): PolicyBundle => ({
  files,
  hash: hashOf(JSON.stringify(files)),
});

/** Replaces the paths of the files in a bundle of policy files with their names, because answers of the API name files without their folder. */
export const namedBundle = ({ files }: PolicyBundle): PolicyBundle =>
  bundleOf(files.map((file) => ({ ...file, path: basename(file.path) })));

/**
 * Returns the policy in a request, with names instead of paths.
 * @param disk returns the files on disk, to which changes are applied
 * @throws SignalboxError `invalid_value`
 */
export function sentBundle({ files, changes }: SentPolicy, disk: () => PolicyBundle): PolicyBundle {
  if (files && changes) refuse('changes', 'Send either `files` or `changes`, not both.');
  if (!files && !changes) return namedBundle(disk());
  if (changes) return changedBundle(namedBundle(disk()), changes);
  checkSent(files ?? [], 'files', () => false);
  return changedBundle({ files: [], hash: '' }, files ?? []);
}

/**
 * Applies changes to a bundle. A new file gets a path in the folder of the other files.
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
      const form = 'letters, digits, `.`, `_` and `-`, and end in `.yaml` or `.yml`';
      refuse(param, `\`${name.slice(0, 64)}\` is not a valid name of a policy file. Use only ${form}.`);
    }
    if (names.has(name)) refuse(param, `\`${name}\` is listed twice. List each file once.`);
    names.add(name);
    length += text?.length ?? 0;
    if (Buffer.byteLength(text ?? '') > FILE_BYTES_MAX) refuse(param, `\`${name}\` is larger than the limit of 1 MiB.`);
    if (text !== null && !text.isWellFormed())
      refuse(param, `\`${name}\` is not valid Unicode: it has half of a surrogate pair.`);
  }
  if (length > SENT_LENGTH_MAX) refuse(param, `All files together may have at most ${SENT_LENGTH_MAX} characters.`);
}

/** Returns what a policy declares, section by section, as far as its files can be read. */
export async function outlineOf({ files }: PolicyBundle, judge: JudgeTools): Promise<Outline> {
  const { outline } = await judge.parse(files, null);
  // The worker wrote this text with JSON.stringify from an object.
  return JSON.parse(outline);
}

/**
 * Returns the difference of the texts, with secrets masked. Works in slices and throws SupersededError when the result is no longer needed.
 */
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
