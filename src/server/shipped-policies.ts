import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { codeOf } from '../core/thrown.ts';
import { UsageError } from '../core/usage-error.ts';
import { reasonOf } from '../store/reason.ts';

/** The folder of the policy that comes with Signalbox. In the standalone program this folder is read-only. */
export const SHIPPED_POLICIES = join(import.meta.dir, Bun.isStandaloneExecutable ? 'policies' : '../../policies');

/**
 * Returns the policy folder to use if none is named. The standalone program uses the folder `policies/` next to itself if it exists, else
 * the folder in the data folder, which the first `serve` creates. Until the first `serve`, commands read the program's own copy of the
 * shipped policy.
 */
export function defaultPolicies(data: string): string {
  if (!Bun.isStandaloneExecutable) return SHIPPED_POLICIES;
  const folders = [join(dirname(process.execPath), 'policies'), policiesIn(data)];
  return folders.find((folder) => fs.existsSync(folder)) ?? SHIPPED_POLICIES;
}

const policiesIn = (data: string): string => join(data, 'policies');

/**
 * If the shipped policy cannot be edited where it is, copies it into the data folder for `serve`.
 * @returns the folder of the copy, or null if no copy was needed
 * @throws UsageError if the copy cannot be written
 */
export function unpackPolicies(folder: string, data: string): string | null {
  if (!Bun.isStandaloneExecutable || folder !== SHIPPED_POLICIES) return null;
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
