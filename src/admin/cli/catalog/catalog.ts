import { writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { commandName } from '../../../core/command-name.ts';
import { plural } from '../../../core/text/text.ts';
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

/**
 * Runs `signalbox catalog sync PROVIDER`.
 * @returns the text to print
 * @throws UsageError, or an Error of one sentence
 */
export const runCatalog = groupOf('catalog', { sync });

async function sync(args: readonly string[], { folder, judge }: PolicyWorkspace): Promise<string> {
  const { values, positionals } = parseArguments(args, { out: TEXT });
  const usage = `catalog sync needs the name of one provider. See ${commandName()} help catalog sync.`;
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

/** Refuses to write the proposal into the policy folder: a running server would apply it within a second, before anyone has reviewed it. */
function refuseInForce(out: string, folder: string): void {
  const at = resolve(out);
  if (/\.ya?ml$/.test(at) && realOf(dirname(at)) === realOf(resolve(folder)))
    throw new UsageError(
      `${out} is in the policy folder, so a running server would apply it at once. Name a file outside of ${folder}.`,
    );
}

async function write(out: string, text: string): Promise<void> {
  try {
    await writeFile(out, text, { flag: 'wx' });
  } catch (cause) {
    const isThere = codeOf(cause) === 'EEXIST';
    throw new UsageError(
      isThere ? `${out} already exists. Name another file.` : `${out} cannot be written (${codeOf(cause)}).`,
    );
  }
}
