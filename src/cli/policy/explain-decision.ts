import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Caller, SCOPES } from '../../core/caller.ts';
import type { DecisionOutcome } from '../../core/decision-record.ts';
import { idText } from '../../core/id.ts';
import { creditsText } from '../../core/text.ts';
import { UsageError } from '../../core/usage-error.ts';
import { type Explanation, explain } from '../../gateway/explain.ts';
import { openRecordReader } from '../../records/reader.ts';
import { story } from '../../routing/story.ts';
import { PastPolicies } from '../../runtime/replay.ts';
import { readStore } from '../../store/open.ts';
import { parseArguments } from '../options.ts';
import type { CommandResult } from '../result.ts';
import { grid, paragraphs } from '../terminal.ts';
import { jsonText, minute } from '../text.ts';
import type { PolicyCommand } from './command.ts';
import { certificateText } from './explain-text.ts';

/** Whoever can read the database may know all of it. */
const OPERATOR: Caller = {
  keyId: '',
  scopes: new Set(SCOPES),
  labels: {},
  models: null,
  limits: null,
  budgets: [],
};

/** `signalbox policy explain --decision`: of the records, beside a running server or without one. Throws UsageError. */
export async function runExplainDecision(args: readonly string[], command: PolicyCommand): Promise<CommandResult> {
  const options = { decision: { type: 'string' }, json: { type: 'boolean' } } as const;
  const { values, positionals } = parseArguments(args, options);
  if (positionals.length > 1) throw new UsageError('policy explain --decision takes one folder at most.');
  const { judge, database, terminal, http } = command;
  if (!existsSync(database)) {
    throw new UsageError(`There is no database in ${resolve(database, '..')}; name its folder with --data.`);
  }
  const folder = positionals[0] ?? command.folder;
  const past = new PastPolicies({ ...judge, folder, inForce: () => null });
  const reader = readStore(database, ['records']);
  try {
    if (!(await reader.records.isCurrent())) {
      throw new UsageError(`${database} has no records of this version yet; start the server once.`);
    }
    const found = await explain({ records: openRecordReader(reader.records), past }, values.decision ?? '', OPERATOR);
    const text = values.json ? jsonText(http.decisionBody(found)) : decisionText(found, terminal);
    return { text, code: found.matches ? 0 : 2 };
  } finally {
    reader.close();
  }
}

function decisionText(explanation: Explanation, terminal: boolean): string {
  const { record, certificate, matches, reason, hindsight, leftOut } = explanation;
  const { id, kind, keyId, time, revision, choice, outcome } = record;
  const head = `${idText('dec_', id)}: ${kind} of the key ${keyId}, ${minute(time)} UTC, policy ${revision}. It chose ${choice}.`;
  const replay = certificate
    ? `Decided again from what was recorded, it comes to ${matches ? 'the same, bit for bit' : 'something else'}.`
    : `It cannot be decided again. ${reason}`;
  const parts = [
    paragraphs([head, replay, ...(leftOut?.length ? [`Left out then: ${leftOut.join(', ')}.`] : [])], terminal),
    ...(certificate
      ? [certificateText(certificate, terminal), paragraphs(story(certificate, record.facts), terminal)]
      : []),
    ...(outcome ? [attemptsText(outcome, terminal), paragraphs(receipt(outcome, hindsight), terminal)] : []),
  ];
  return parts.join('\n');
}

function attemptsText({ attempts }: DecisionOutcome, terminal: boolean): string {
  const rows = attempts.map(({ provider, model, upstream, ms, firstPartMs, failure }) => [
    provider,
    model,
    upstream,
    `${Math.round(ms)}`,
    firstPartMs === null ? '' : `${Math.round(firstPartMs)}`,
    failure ?? 'answered',
  ]);
  const head = ['attempt', 'model', 'upstream', 'ms', 'first ms', 'result'];
  return `${grid([head, ...rows], terminal, (column) => column === 3 || column === 4).join('\n')}\n`;
}

function receipt(outcome: DecisionOutcome, hindsight: Explanation['hindsight']): string[] {
  const { status, error, usage, estimated, charged, saved, totalMs } = outcome;
  const tokens = usage
    ? `${usage.inputTokens} tokens of input (${usage.cachedInputTokens} cached) and ${usage.outputTokens} of output${estimated ? ', counted here' : ''}; `
    : '';
  const elsewhere = [
    hindsight?.runnerUp != null && `${creditsText(hindsight.runnerUp)} on the runner-up`,
    hindsight?.baseline != null && `${creditsText(hindsight.baseline)} on the baseline`,
  ].filter((text) => typeof text === 'string');
  return [
    `It ${error ? `ended as ${status} with ${error}` : `was ${status}`} in ${Math.round(totalMs)} ms: ${tokens}charged ${creditsText(charged)}, saved ${creditsText(saved)}.`,
    ...(elsewhere.length > 0 ? [`The same tokens would have cost ${elsewhere.join(' and ')}.`] : []),
  ];
}
