import { writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { commandName } from '../../../core/command-name.ts';
import { plural } from '../../../core/text.ts';
import { codeOf } from '../../../core/thrown.ts';
import { UsageError } from '../../../core/usage-error.ts';
import { scrub } from '../../../host/telemetry/secrets.ts';
import { realOf } from '../../../policy/runtime/watch.ts';
import { patchOf } from '../../use-cases/catalog/patch.ts';
import { isComplete } from '../../use-cases/catalog/propose.ts';
import { syncCatalog } from '../../use-cases/catalog/sync.ts';
import type { PolicyWorkspace } from '../../use-cases/policy/tools.ts';
import { groupOf, onlyOne, parseArguments, TEXT } from '../arguments.ts';
import { day } from '../text.ts';

/** `signalbox catalog sync PROVIDER`. Returns what to print. Throws UsageError, or an Error of one clear sentence. */
export const runCatalog = groupOf('catalog', { sync });

async function sync(args: readonly string[], { folder, judge }: PolicyWorkspace): Promise<string> {
  const { values, positionals } = parseArguments(args, { out: TEXT });
  const usage = `catalog sync takes the name of one provider. See ${commandName()} help catalog sync.`;
  const provider = onlyOne(positionals, usage);
  const { out } = values;
  if (out !== undefined) refuseInForce(out, folder);
  const proposal = await syncCatalog(folder, provider, judge, day(judge.now()));
  const text = scrub(patchOf(proposal));
  if (out === undefined) return text;
  await write(out, text);
  const complete = proposal.added.filter(isComplete).length;
  const open = proposal.added.length - complete;
  return `${out}: ${plural(complete, 'model')} to add, ${open} with questions. Review it, then save it in ${folder}.\n`;
}

/** A file in the folder of a policy is in force within a second: a proposal must not be. */
function refuseInForce(out: string, folder: string): void {
  const at = resolve(out);
  if (/\.ya?ml$/.test(at) && realOf(dirname(at)) === realOf(resolve(folder)))
    throw new UsageError(`${out} would be a part of the policy at once. Name a file outside of ${folder}.`);
}

async function write(out: string, text: string): Promise<void> {
  try {
    await writeFile(out, text, { flag: 'wx' });
  } catch (cause) {
    const isThere = codeOf(cause) === 'EEXIST';
    throw new UsageError(
      isThere ? `${out} exists; name another file.` : `${out} cannot be written (${codeOf(cause)}).`,
    );
  }
}
