import { iso } from '../../core/clock.ts';
import { idAt, idText, timeOfId } from '../../core/id.ts';
import { outcomePages } from '../../learning/overview.ts';
import { writeTable } from '../../operate/csv.ts';
import { OUTCOME_SOURCES, type OutcomeFilter, type OutcomeRow } from '../../store/learning.ts';
import { choiceOf, parseFlags, TEXT } from '../arguments.ts';
import { periodOf } from '../ledger/period.ts';
import { type LearnCommand, reading } from './command.ts';

const OPTIONS = { from: TEXT, to: TEXT, 'time-zone': TEXT, key: TEXT, model: TEXT, source: TEXT, format: TEXT };

const COLUMNS = [
  ...['time', 'decision', 'key_id', 'model', 'task', 'score', 'weight', 'offered', 'source', 'label'],
  ...['declared', 'estimated', 'probability', 'among', 'estimator'],
];

/** `signalbox learn export`: the log of outcomes, a page at a time. Throws UsageError. */
export async function learnExport(args: readonly string[], command: LearnCommand): Promise<string> {
  const { filter, format } = parseExport(args);
  await reading(command, (reader) => writeTable(COLUMNS, linesOf(outcomePages(reader, filter)), format, command.write));
  return '';
}

async function* linesOf(pages: ReturnType<typeof outcomePages>) {
  for await (const page of pages) yield page.map(lineOf);
}

function parseExport(args: readonly string[]): { filter: OutcomeFilter; format: 'jsonl' | 'csv' } {
  const flags = parseFlags(args, OPTIONS);
  const format = choiceOf('--format', flags.format ?? 'jsonl', ['jsonl', 'csv']);
  const source = flags.source === undefined ? null : choiceOf('--source', flags.source, OUTCOME_SOURCES);
  const { from, to } = periodOf(flags.from, flags.to, flags['time-zone'] ?? 'UTC');
  const before = Number.isFinite(to) ? idAt(to) : Number.MAX_SAFE_INTEGER;
  return {
    filter: { after: idAt(from) - 1, before, keyId: flags.key ?? null, model: flags.model ?? null, source },
    format,
  };
}

function lineOf(row: OutcomeRow) {
  const { id, decision, keyId, ...rest } = row;
  return { ...rest, time: iso(timeOfId(id)), decision: idText('dec_', decision), key_id: keyId };
}
