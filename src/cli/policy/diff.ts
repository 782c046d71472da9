import { differenceBody, diffPolicy, type PolicyDifference } from '../../admin/use-cases/policy/diff.ts';
import { isFolder } from '../../admin/use-cases/policy/tools.ts';
import { UsageError } from '../../core/usage-error.ts';
import { parseArguments, SWITCH, TEXT } from '../arguments.ts';
import type { CommandDefinition } from '../command.ts';
import type { CommandResult } from '../result.ts';
import { jsonText } from '../text.ts';
import type { PolicyCommand } from './command.ts';
import { differenceText } from './diff-text.ts';

const FLAGS = { requests: TEXT, json: SWITCH, strict: SWITCH };

/** `signalbox policy diff` */
export const policyDiff: CommandDefinition = {
  usesPolicies: true,
  use: 'before a change goes live, to see which requests would get another model and at what cost.',
  example: 'policy diff HEAD ./policies --requests requests.jsonl',
  usage: 'A [B] [--requests FILE.jsonl | -] [--strict] [--json] [--data DIR]',
  summary: 'Compare two policies: their declarations, and the models and costs that they choose.',
  details: `A and B are folders, revisions stored in --data, or Git commits (HEAD~1, main:path/to/folder).
Without B, the command compares A with the policy folder. It runs plugin code of both, even of a commit.
The command decides the cases of both policies, and the requests of a file.
Exit code: 2 if a case that held now fails or B cannot be loaded (with --strict: if any choice differs).`,
  run: async (args, context) => runDiff(args, await context.policy()),
};

/**
 * If only the earlier policy cannot be loaded, the command writes all other results first and then throws.
 * @throws UsageError
 */
async function runDiff(args: readonly string[], command: PolicyCommand): Promise<CommandResult> {
  const { values, positionals } = parseArguments(args, FLAGS);
  const [a, b, ...more] = positionals;
  if (a === undefined || more.length > 0) {
    throw new UsageError(
      'policy diff needs one or two policies: folders, revisions or commits, as in policy diff HEAD.',
    );
  }
  const workspace = { ...command, folder: folderMeant(positionals, command) };
  const difference = await diffPolicy({ a, b, requests: values.requests }, workspace);
  const text = values.json ? jsonText(await differenceBody(difference)) : differenceText(difference, command.terminal);
  if (difference.a.side === null) {
    await command.write(text);
    throw new UsageError(`${difference.a.place.label} cannot be loaded, so only the declarations were compared.`);
  }
  return { text, code: isFine(difference, values.strict) ? 0 : 2 };
}

/**
 * The folder whose Git history a commit without a path refers to: the folder of the other side if it is named, else the shipped policy
 * folder.
 */
function folderMeant(named: readonly string[], { folder, shippedFolder }: PolicyCommand): string {
  return folder === shippedFolder ? (named.find(isFolder) ?? folder) : folder;
}

function isFine({ decisions }: PolicyDifference, strict: boolean): boolean {
  if (decisions === null || decisions.cases.some(({ broken }) => broken.length > 0)) return false;
  const different = decisions.caseTotals.different + (decisions.requests?.totals.different ?? 0);
  return !strict || different === 0;
}
