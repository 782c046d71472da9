import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type LastWeek, lastWeekAt } from '../../admin/use-cases/catalog/last-week.ts';
import { patchOf } from '../../admin/use-cases/catalog/patch.ts';
import { isComplete } from '../../admin/use-cases/catalog/propose.ts';
import { syncCatalog } from '../../admin/use-cases/catalog/sync.ts';
import { tableText } from '../../admin/use-cases/catalog/table.ts';
import { type CatalogUpdate, updateCatalog } from '../../admin/use-cases/catalog/update.ts';
import { readBooks } from '../../admin/use-cases/ledger/reading.ts';
import { commandName } from '../../core/command-name.ts';
import { plural } from '../../core/text/text.ts';
import { codeOf } from '../../core/thrown.ts';
import { UsageError } from '../../core/usage-error.ts';
import { scrub } from '../../host/telemetry/secrets.ts';
import { realOf } from '../../policy/runtime/watch.ts';
import { LIST, parseArguments, SWITCH, TEXT } from '../arguments.ts';
import type { CommandContext, CommandDefinition } from '../command.ts';
import { DATA } from '../command-help.ts';
import type { CommandResult } from '../result.ts';
import { day, jsonText } from '../text.ts';
import { operator } from '../user.ts';
import { isFinding, updateBody, updateText } from './update-text.ts';

/** `signalbox catalog update`. Throws UsageError, or an Error of one sentence. */
export const catalogUpdate: CommandDefinition = {
  usesPolicies: true,
  use: 'when prices change, or a provider offers new models.',
  example: 'catalog update --from models.dev --from prices.json=2026-11-20 --write renewed',
  usage: '[PROVIDER] [--from PATH[=DAY]]... [--write DIR | --json] [--policies DIR] [--data DIR]',
  summary: 'Compare the prices of a policy with public lists, or list what a provider has, as a patch to review.',
  details: `PATH is a clone of models.dev, the package @pydantic/genai-prices, or the file
model_prices_and_context_window_backup.json from a wheel of LiteLLM. DAY is the day on which that version
was published, such as 2026-11-20; a clone states its own. The command runs no code of these files.
It reports which prices changed, where lists disagree, which models are new or end, and what the requests
of the last seven days would have cost.
With PROVIDER, the command requests the provider's own list of models, with the URL and API key of the policy,
and proposes the models that the policy lacks. Figures that the list does not state come from --from, or else
from the table of public models.
--write DIR writes a patch for the policy, new models, and the table of public models. Nothing is applied.
Exit code: 2 if a price of the policy differs or a model ends, otherwise 0.
${DATA}`,
  run: update,
};

async function update(args: readonly string[], context: CommandContext): Promise<CommandResult> {
  const { values, positionals } = parseArguments(args, { from: LIST, write: TEXT, json: SWITCH });
  const { from = [], write: folder, json } = values;
  const [provider, ...more] = positionals;
  if (more.length > 0 || (provider === undefined && from.length === 0))
    throw new UsageError(
      `catalog update needs a list, as in --from models.dev, or the name of one provider. See ${commandName()} help catalog update.`,
    );
  const policy = await context.policy();
  if (folder !== undefined) refuseInForce(folder, policy.folder);
  const today = day(policy.judge.now());
  if (provider !== undefined) {
    if (json) throw new UsageError('--json is only for --from without a provider.');
    const proposal = await syncCatalog(policy.folder, provider, policy.judge, today, from);
    const text = scrub(patchOf(proposal));
    if (folder === undefined) return { text, code: 0 };
    const file = join(folder, `${provider}.yaml`);
    await write([[file, text]]);
    const complete = proposal.added.filter(isComplete).length;
    const open = proposal.added.length - complete;
    const words = `${file}: ${plural(complete, 'model')} to add, ${open} with questions.`;
    return { text: `${words} Review it, then save it in ${policy.folder}.\n`, code: 0 };
  }
  const found = await updateCatalog(policy.folder, from, policy.judge, today);
  const week = await lastWeek(context, found);
  const files = folder === undefined ? [] : filesOf(folder, found);
  await write(files);
  const text = json ? jsonText(updateBody(found, week)) : updateText(found, week, context.terminal);
  const written =
    files.length === 0 ? '' : `\nWritten: ${files.map(([name]) => name).join(', ')}. Nothing is applied.\n`;
  return { text: json ? text : text + written, code: found.models.some(isFinding) ? 2 : 0 };
}

/** Recalculates the charges of the last seven days; null if the data folder has no ledger. */
async function lastWeek(context: CommandContext, { prices }: CatalogUpdate): Promise<LastWeek | null> {
  const { database } = context.line;
  if (!database.includes('://') && !existsSync(database)) return null;
  return readBooks(operator(), await context.books(), context.tell, ({ journal }) =>
    lastWeekAt(journal, prices, context.now()),
  );
}

/** The files of a patch: the changes of the policy, the new models of each provider, and the table. */
function filesOf(folder: string, { diff, proposals, table }: CatalogUpdate): readonly (readonly [string, string])[] {
  return [
    ...(diff === '' ? [] : [[join(folder, 'policy.diff'), diff] as const]),
    ...proposals.map((one) => [join(folder, `${one.provider}.yaml`), scrub(patchOf(one))] as const),
    [join(folder, 'facts.json'), tableText(table.file)],
  ];
}

/** Refuses to write into the policy folder: a running server would apply the files within a second, before anyone has reviewed them. */
function refuseInForce(out: string, folder: string): void {
  if (realOf(resolve(out)) === realOf(resolve(folder)))
    throw new UsageError(
      `${out} is the policy folder, so a running server would apply the files at once. Name another folder.`,
    );
}

async function write(files: readonly (readonly [path: string, text: string])[]): Promise<void> {
  for (const [path, text] of files) {
    try {
      await mkdir(join(path, '..'), { recursive: true });
      await writeFile(path, text, { flag: 'wx' });
    } catch (cause) {
      const isThere = codeOf(cause) === 'EEXIST';
      throw new UsageError(
        isThere ? `${path} already exists. Name another folder.` : `${path} cannot be written (${codeOf(cause)}).`,
      );
    }
  }
}
