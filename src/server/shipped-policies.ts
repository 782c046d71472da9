import * as fs from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import type { DefaultPolicies } from '../admin/use-cases/serve-options.ts';
import { codeOf } from '../core/thrown.ts';
import { UsageError } from '../core/usage-error.ts';
import { isBuiltInPolicy, PROGRAM_FORM, shippedFolder } from '../host/program.ts';
import { reasonOf } from '../store/reason.ts';

/** The folder of the policy that comes with Signalbox. In a built program, users cannot edit it. */
export const SHIPPED_POLICIES = shippedFolder('policies');

/**
 * Returns the policy folder that `serve` uses if none is named. A binary uses the folder `policies/` next to itself if it exists. A binary
 * and the package use `policies/` in the current folder if `signalbox init` made it. Otherwise both use the folder in the data folder, which
 * the first `serve` creates.
 */
function servedPolicies(data: string): string {
  if (PROGRAM_FORM === 'sources') return SHIPPED_POLICIES;
  const folders = [
    ...(PROGRAM_FORM === 'binary' ? [join(dirname(process.execPath), POLICIES)] : []),
    ...(fs.existsSync(join(POLICIES, MAIN_FILE)) ? [POLICIES] : []),
    policiesIn(data),
  ];
  return folders.find((folder) => fs.existsSync(folder)) ?? SHIPPED_POLICIES;
}

/** Returns the policy folders to use for a data folder if none is named. */
export const defaultPolicies: DefaultPolicies = {
  forServe: servedPolicies,
  // Commands on the data folder of a server mean its policy, wherever its command line named it.
  forCommands: (data) => notedPolicies(data) ?? servedPolicies(data),
};

/** The file in the data folder with the path of the policy folder of the last start. */
const noteIn = (data: string): string => join(data, 'policy.folder');

/** Notes in the data folder which policy folder a server uses. */
export function notePolicies(data: string, folder: string): void {
  try {
    fs.writeFileSync(noteIn(data), resolve(folder), { mode: 0o600 });
  } catch {
    // The commands then use their default, and name it.
  }
}

/** Removes the note of a policy folder that the next start by default does not use any more. */
export function forgetPolicies(data: string, folder: string): void {
  if (notedPolicies(data) === resolve(folder)) fs.rmSync(noteIn(data), { force: true });
}

/** Returns the policy folder of the last start with a data folder; null if it is not known or gone. */
function notedPolicies(data: string): string | null {
  try {
    const folder = fs.readFileSync(noteIn(data), 'utf8');
    return isAbsolute(folder) && fs.statSync(folder).isDirectory() ? folder : null;
  } catch {
    return null;
  }
}

/**
 * Finds YAML files in `policies/` of the current folder that a start by default does not use, although their author may expect it.
 * @param used the policy folder of the start
 * @returns the folder; null if there are none, or if the start uses them or a folder that the operator named
 */
export function unusedPolicies(used: string, data: string): string | null {
  const here = resolve(POLICIES);
  if (used !== servedPolicies(data) || resolve(used) === here) return null;
  try {
    return fs.readdirSync(here).some((name) => /\.ya?ml$/.test(name)) ? here : null;
  } catch {
    return null;
  }
}

const POLICIES = 'policies';
/** A file of each copy of the shipped policy. Other programs also call their folders `policies`. */
const MAIN_FILE = 'signalbox.yaml';

const policiesIn = (data: string): string => join(data, POLICIES);

/** Returns the folder whose files an operator edits. In place of the program's own copy, this is the folder that `signalbox init` makes. */
export function editablePolicies(used: string): string {
  return isBuiltInPolicy(used) ? POLICIES : used;
}

/**
 * If the shipped policy cannot be edited where it is, copies it into the data folder for `serve`.
 * @returns the folder of the copy, or null if no copy was needed
 * @throws UsageError if the copy cannot be written
 */
export function unpackPolicies(folder: string, data: string): string | null {
  if (!isBuiltInPolicy(folder)) return null;
  const target = policiesIn(data);
  try {
    copyWhole(folder, target);
  } catch (cause) {
    throw new UsageError(
      `Cannot copy the shipped policy to ${target}: ${reasonOf(cause)}. Name another policy folder with --policies.`,
    );
  }
  return target;
}

/**
 * Copies a folder of files, all or nothing, because the next start would use an incomplete folder as the policy. If another start made the
 * copy first, the server keeps that copy.
 */
export function copyWhole(folder: string, target: string): void {
  fs.mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
  const making = fs.mkdtempSync(`${target}-`);
  try {
    // Another user may run the server that reads the copy.
    fs.chmodSync(making, 0o777 & ~process.umask());
    for (const file of fs.readdirSync(folder))
      fs.writeFileSync(join(making, file), fs.readFileSync(join(folder, file)));
    fs.renameSync(making, target);
  } catch (cause) {
    const code = codeOf(cause);
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw cause;
  } finally {
    fs.rmSync(making, { recursive: true, force: true });
  }
}
