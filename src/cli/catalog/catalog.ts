import { writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { patchOf } from '../../admin/use-cases/catalog/patch.ts';
import { isComplete } from '../../admin/use-cases/catalog/propose.ts';
import { syncCatalog } from '../../admin/use-cases/catalog/sync.ts';
import type { PolicyWorkspace } from '../../admin/use-cases/policy/tools.ts';
import { commandName } from '../../core/command-name.ts';
import { plural } from '../../core/text/text.ts';
import { codeOf } from '../../core/thrown.ts';
import { UsageError } from '../../core/usage-error.ts';
import { scrub } from '../../host/telemetry/secrets.ts';
import { realOf } from '../../policy/runtime/watch.ts';
import { onlyOne, parseArguments, TEXT } from '../arguments.ts';
import type { CommandDefinition } from '../command.ts';
import { day } from '../text.ts';

/** `signalbox catalog sync`. Throws UsageError, or an Error of one sentence. */
export const catalogSync: CommandDefinition = {
  use: 'when a provider offers new models.',
  example: 'catalog sync openai --out new-models.yaml',
  usage: 'PROVIDER [--out FILE] [--policies DIR] [--data DIR]',
  summary: "Propose models from a provider's own list that a policy does not have yet.",
  details: `Requests the list of models from a provider of the policy, with the provider's URL and API key.
Prints YAML for review, or writes it to --out. The command never changes the policy.
Prices and limits come from the provider's list, or else from a table of public models.
An entry without a price or a limit is written as a comment.
Exit code: 0, or 1 if the provider returned no list.`,
  run: async (args, context) => sync(args, await context.policy()),
};

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
