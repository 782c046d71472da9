import { writeTable } from '../admin/use-cases/csv.ts';
import { checkScored, outcomePages, readScores, resetScores } from '../admin/use-cases/scores.ts';
import { idAt, idText, timeOfId } from '../core/id.ts';
import { iso } from '../core/time/clock.ts';
import { UsageError } from '../core/usage-error.ts';
import type { OutcomeFilter, OutcomeRow } from '../store/learning.ts';
import { requireStore } from '../store/open.ts';
import { choiceOf, parseFlags, SWITCH, TEXT } from './arguments.ts';
import type { CommandContext, CommandDefinition } from './command.ts';
import { flagPeriod, MOMENT } from './ledger/period.ts';
import { operator } from './user.ts';

/** `signalbox learn export` */
export const learnExport: CommandDefinition = {
  usesPolicies: true,
  use: 'to analyse scores with your own tools.',
  example: 'learn export --from 2026-11 --format csv > scores.csv',
  usage: `[--from T] [--to T] [--time-zone UTC] [--key ID] [--model ID]
[--format jsonl|csv] [--data DIR]`,
  summary: 'Write every score.',
  details: MOMENT,
  run: exportScores,
};

/** `signalbox learn reset` */
export const learnReset: CommandDefinition = {
  usesPolicies: true,
  use: 'when a provider has replaced a model under the same name.',
  example: 'learn reset --model gpt-6-luna --yes',
  usage: '[--model ID] --yes [--data DIR]',
  summary: 'Exclude all scores so far from the means, for all models or for one.',
  run: reset,
};

async function reset(args: readonly string[], { line: { database }, now }: CommandContext): Promise<string> {
  await requireStore(database);
  const { model = null, yes } = parseFlags(args, { model: TEXT, yes: SWITCH });
  if (model !== null) await readScores(operator(), database, (reader) => checkScored(reader, model));
  const what = model === null ? 'all scores so far' : `the scores of ${model} so far`;
  if (!yes) throw new UsageError(`This excludes ${what} from the means and cannot be undone. To confirm, add --yes.`);
  await resetScores(operator(), database, model, now());
  return `The means now exclude ${what}. The export still contains them.\n`;
}

const COLUMNS = ['time', 'decision', 'key_id', 'model', 'task', 'score', 'label', 'declared'];

/** Writes the log of scores, one page at a time. */
async function exportScores(args: readonly string[], { line: { database }, write }: CommandContext): Promise<string> {
  await requireStore(database);
  const { filter, format } = parseExport(args);
  await readScores(operator(), database, (reader) => writeTable(COLUMNS, linesOf(reader, filter), format, write));
  return '';
}

async function* linesOf(...given: Parameters<typeof outcomePages>) {
  for await (const page of outcomePages(...given)) yield page.map(lineOf);
}

function parseExport(args: readonly string[]): { filter: OutcomeFilter; format: 'jsonl' | 'csv' } {
  const flags = parseFlags(args, {
    from: TEXT,
    to: TEXT,
    'time-zone': TEXT,
    key: TEXT,
    model: TEXT,
    format: TEXT,
  });
  const format = choiceOf('--format', flags.format ?? 'jsonl', ['jsonl', 'csv']);
  const { from, to } = flagPeriod(flags.from, flags.to, flags['time-zone'] ?? 'UTC');
  const before = Number.isFinite(to) ? idAt(to) : Number.MAX_SAFE_INTEGER;
  const ids = { after: idAt(from) - 1, before };
  return { filter: { ...ids, keyId: flags.key ?? null, model: flags.model ?? null }, format };
}

function lineOf({ id, decision, keyId, ...rest }: OutcomeRow) {
  return { ...rest, time: iso(timeOfId(id)), decision: idText('dec_', decision), key_id: keyId };
}
