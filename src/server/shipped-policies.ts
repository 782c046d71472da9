import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { codeOf } from '../core/thrown.ts';
import { UsageError } from '../core/usage-error.ts';
import { PROGRAM_FORM, shippedFolder } from '../host/program.ts';
import { reasonOf } from '../store/reason.ts';

/** The folder of the policy that comes with Signalbox. In a built program, users cannot edit it. */
export const SHIPPED_POLICIES = shippedFolder('policies');

/**
 * Returns the policy folder to use if none is named. A binary uses the folder `policies/` next to itself if it exists. The package uses
 * `policies/` in the current folder if `signalbox init` made it. Otherwise both use the folder in the data folder, which the first `serve`
 * creates. Until the first `serve`, commands read the program's own copy of the shipped policy.
 */
export function defaultPolicies(data: string): string {
  if (PROGRAM_FORM === 'sources') return SHIPPED_POLICIES;
  const own = PROGRAM_FORM === 'binary' ? join(dirname(process.execPath), POLICIES) : POLICIES;
  const isOwn = fs.existsSync(PROGRAM_FORM === 'binary' ? own : join(own, MAIN_FILE));
  return [...(isOwn ? [own] : []), policiesIn(data)].find((folder) => fs.existsSync(folder)) ?? SHIPPED_POLICIES;
}

const POLICIES = 'policies';
/** A file of each copy of the shipped policy. Other programs also call their folders `policies`. */
const MAIN_FILE = 'signalbox.yaml';

const policiesIn = (data: string): string => join(data, POLICIES);

/** Returns the folder whose files an operator edits. In place of the program's own copy, this is the folder that `signalbox init` makes. */
export function editablePolicies(used: string): string {
  return PROGRAM_FORM !== 'sources' && used === SHIPPED_POLICIES ? POLICIES : used;
}

/**
 * If the shipped policy cannot be edited where it is, copies it into the data folder for `serve`.
 * @returns the folder of the copy, or null if no copy was needed
 * @throws UsageError if the copy cannot be written
 */
export function unpackPolicies(folder: string, data: string): string | null {
  if (PROGRAM_FORM === 'sources' || folder !== SHIPPED_POLICIES) return null;
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
