import { iso } from '../core/clock.ts';
import { idAt, idText, timeOfId } from '../core/id.ts';
import { UsageError } from '../core/usage-error.ts';
import { writeTable } from '../operate/csv.ts';
import {
  checkScored,
  outcomePages,
  points,
  readScores,
  resetScores,
  type ScoreStatus,
  scoreStatus,
  scoresBody,
} from '../operate/scores.ts';
import { OUTCOME_SOURCES, type OutcomeFilter, type OutcomeRow, type SourceSums } from '../store/learning.ts';
import { choiceOf, groupOf, parseFlags, SWITCH, TEXT } from './arguments.ts';
import { periodOf } from './ledger/period.ts';
import type { PolicyCommand } from './policy/command.ts';
import { grid, paragraphs } from './terminal.ts';
import { count, jsonText } from './text.ts';
import { operator } from './user.ts';

/** The inputs of every command on scores, whose database exists. */
type LearnCommand = Pick<PolicyCommand, 'judge' | 'database' | 'terminal' | 'write'>;

/** `signalbox learn status|reset|export`, next to a running server or without one. Throws UsageError. */
export const runLearn = groupOf('learn', { status: learnStatus, reset: learnReset, export: learnExport });

async function learnStatus(args: readonly string[], { database, terminal }: LearnCommand): Promise<string> {
  const { json } = parseFlags(args, { json: SWITCH });
  const status = await readScores(operator(), database, (reader) => scoreStatus(operator(), reader));
  return json ? jsonText(scoresBody(status)) : asText(status, terminal);
}

const SOURCES: Readonly<Record<SourceSums['source'], readonly [one: string, many: string]>> = {
  caller: ['score by callers', 'scores by callers'],
  checks: ['check of an answer', 'checks of answers'],
  retry: ['retry', 'retries'],
};

const SCORE = 'Score answers with POST /v1/feedback and their decision_id. See docs/route/learning.md.';

function asText({ sources, models }: ScoreStatus, terminal: boolean): string {
  if (sources.length === 0) return paragraphs(['No answer was scored yet.', SCORE], terminal);
  const kept = sources.map(({ source, outcomes }) => count(outcomes, ...SOURCES[source])).join(', ');
  const head = ['model', 'task', 'scores', 'declared', 'mean', 'points'];
  const rows = models.map((one) => [
    one.model,
    one.task ?? 'all',
    one.outcomes.toLocaleString('en', { maximumFractionDigits: 1 }),
    one.declared.toFixed(3),
    one.mean.toFixed(3),
    signed(points(one)),
  ]);
  const table = rows.length > 0 ? `${grid([head, ...rows], terminal, (column) => column > 1).join('\n')}\n` : '';
  return [paragraphs([`${kept} kept.`], terminal), table].filter(Boolean).join('\n');
}

function signed(value: number): string {
  const text = value.toFixed(1);
  return Number(text) > 0 ? `+${text}` : text.replace('-0.0', '0.0');
}

async function learnReset(args: readonly string[], { database, judge }: LearnCommand): Promise<string> {
  const { model = null, yes } = parseFlags(args, { model: TEXT, yes: SWITCH });
  if (model !== null) await readScores(operator(), database, (reader) => checkScored(reader, model));
  const what = model === null ? 'all scores so far' : `the scores of ${model} so far`;
  if (!yes) throw new UsageError(`This leaves ${what} out of the means, and cannot be undone. To confirm, add --yes.`);
  await resetScores(operator(), database, model, judge.now());
  return `The means leave out ${what}. The export still has them.\n`;
}

const COLUMNS = [
  ...['time', 'decision', 'key_id', 'model', 'task', 'score', 'weight', 'offered', 'source', 'label'],
  ...['declared', 'estimated', 'probability', 'among', 'estimator'],
];

/** The log of outcomes, a page at a time. */
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
    ...{ from: TEXT, to: TEXT, 'time-zone': TEXT, key: TEXT, model: TEXT, source: TEXT, format: TEXT },
  });
  const format = choiceOf('--format', flags.format ?? 'jsonl', ['jsonl', 'csv']);
  const source = flags.source === undefined ? null : choiceOf('--source', flags.source, OUTCOME_SOURCES);
  const { from, to } = periodOf(flags.from, flags.to, flags['time-zone'] ?? 'UTC');
  const before = Number.isFinite(to) ? idAt(to) : Number.MAX_SAFE_INTEGER;
  const ids = { after: idAt(from) - 1, before };
  return { filter: { ...ids, keyId: flags.key ?? null, model: flags.model ?? null, source }, format };
}

function lineOf({ id, decision, keyId, ...rest }: OutcomeRow) {
  return { ...rest, time: iso(timeOfId(id)), decision: idText('dec_', decision), key_id: keyId };
}
