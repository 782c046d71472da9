import { idAt, idText, timeOfId } from '../../core/id.ts';
import { iso } from '../../core/time/clock.ts';
import { UsageError } from '../../core/usage-error.ts';
import type { OutcomeFilter, OutcomeRow } from '../../store/learning.ts';
import { type LearningServices, showLearning } from '../learning.ts';
import { writeTable } from '../use-cases/csv.ts';
import { checkScored, outcomePages, readScores, resetScores } from '../use-cases/scores.ts';
import { choiceOf, groupOf, parseFlags, SWITCH, TEXT } from './arguments.ts';
import { flagPeriod } from './ledger/period.ts';
import { commandsOf, NO_WORTH } from './operations.ts';
import type { PolicyCommand } from './policy/command.ts';
import type { CommandOutput } from './result.ts';
import { operator } from './user.ts';

/** The inputs of commands on scores. The database must exist. */
interface LearnCommand extends Pick<PolicyCommand, 'database' | 'write'> {
  now(): number;
}

/** Runs `signalbox learn status|reset|export`, whether a server is running or not. Throws UsageError. */
export const runLearn = groupOf<LearnCommand, CommandOutput>('learn', {
  ...commandsOf<LearningServices, LearnCommand>([showLearning], ({ database }) => ({
    outcomes: (read) => readScores(operator(), database, ({ learning }) => read(learning.outcomes)),
    ...NO_WORTH,
  })),
  reset: learnReset,
  export: learnExport,
});

async function learnReset(args: readonly string[], { database, now }: LearnCommand): Promise<string> {
  const { model = null, yes } = parseFlags(args, { model: TEXT, yes: SWITCH });
  if (model !== null) await readScores(operator(), database, (reader) => checkScored(reader, model));
  const what = model === null ? 'all scores so far' : `the scores of ${model} so far`;
  if (!yes) throw new UsageError(`This excludes ${what} from the means and cannot be undone. To confirm, add --yes.`);
  await resetScores(operator(), database, model, now());
  return `The means now exclude ${what}. The export still contains them.\n`;
}

const COLUMNS = ['time', 'decision', 'key_id', 'model', 'task', 'score', 'label', 'declared'];

/** Writes the log of scores, one page at a time. */
async function learnExport(args: readonly string[], { database, write }: LearnCommand): Promise<string> {
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
