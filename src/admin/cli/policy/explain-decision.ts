import type { DecisionOutcome } from '../../../core/decision/outcome.ts';
import { json as jsonOf } from '../../../core/define/fields.ts';
import { idText } from '../../../core/id.ts';
import { creditsText } from '../../../core/text/text.ts';
import { UsageError } from '../../../core/usage-error.ts';
import type { Explanation } from '../../../gateway/request/explain.ts';
import { spreadReason } from '../../../routing/spread-text.ts';
import { story } from '../../../routing/story.ts';
import { Decision, shownDecision } from '../../decision.ts';
import { FULL_SIGHT } from '../../use-cases/sight.ts';
import { explainStoredDecision } from '../../use-cases/stored-decision.ts';
import { parseArguments } from '../arguments.ts';
import type { CommandResult } from '../result.ts';
import { grid, paragraphs } from '../terminal.ts';
import { jsonText, minute } from '../text.ts';
import { operator } from '../user.ts';
import type { PolicyCommand } from './command.ts';
import { EXPLAIN_FLAGS, refuseOthers } from './explain-flags.ts';
import { certificateText } from './explain-text.ts';

/** Runs `signalbox policy explain --decision` from the stored records, whether a server is running or not. Throws UsageError. */
export async function runExplainDecision(args: readonly string[], command: PolicyCommand): Promise<CommandResult> {
  const { values, positionals } = parseArguments(args, EXPLAIN_FLAGS);
  const { decision = '', json, here, ...more } = values;
  refuseOthers('--decision', here ? { here } : more, undefined);
  if (positionals.length > 1) throw new UsageError('policy explain --decision takes at most one folder.');
  const folder = positionals[0] ?? command.folder;
  const { explanation, keyName } = await explainStoredDecision(operator(), decision, {
    ...command,
    folder,
  });
  const { terminal } = command;
  const text = json
    ? jsonText(jsonOf(Decision, shownDecision(explanation, { ...FULL_SIGHT, nameOf: () => keyName })))
    : decisionText(explanation, terminal);
  return { text, code: explanation.matches ? 0 : 2 };
}

function decisionText(explanation: Explanation, terminal: boolean): string {
  const { record, certificate, matches, repeatsEndpoints, reason, hindsight, leftOut } = explanation;
  const { id, kind, keyId, time, revision, choice, outcome } = record;
  const head = `${idText('dec_', id)}: ${kind} with the key ${keyId}, ${minute(time)} UTC, policy ${revision}. Chosen model: ${choice}.`;
  const replay = certificate
    ? `The decision, repeated from its record, is ${matches ? 'identical, bit for bit' : 'different'}.`
    : `The decision cannot be repeated. ${reason}`;
  const parts = [
    paragraphs(
      [
        head,
        replay,
        ...(repeatsEndpoints === null ? [] : [REPEATED[`${repeatsEndpoints}`]]),
        ...(leftOut?.length ? [`Providers that could not serve at that time: ${leftOut.join(', ')}.`] : []),
      ],
      terminal,
    ),
    ...(certificate
      ? [certificateText(certificate, terminal), paragraphs(story(certificate, record.facts), terminal)]
      : []),
    ...(outcome ? [attemptsText(outcome, terminal), paragraphs(receipt(outcome, hindsight), terminal)] : []),
  ];
  return parts.join('\n');
}

const REPEATED = {
  true: 'Each attempt, repeated from its record, has the same endpoint.',
  false: 'An attempt, repeated from its record, has another endpoint. The record or the policy was edited.',
};

function attemptsText({ attempts, full }: DecisionOutcome, terminal: boolean): string {
  const isSpread = attempts.some(({ spread }) => spread !== undefined);
  const rows = attempts.map((attempt) => {
    const { provider, key, model, upstream, ms, firstPartMs, endpoint, spread } = attempt;
    return [
      key === undefined ? provider : `${provider} (${key})`,
      model,
      upstream,
      `${Math.round(ms)}`,
      firstPartMs === null ? '' : `${Math.round(firstPartMs)}`,
      resultText(attempt),
      ...(isSpread ? [spread ? spreadReason(spread, endpoint) : ''] : []),
    ];
  });
  for (const { provider, model, upstream, limit, most } of full ?? [])
    rows.push([provider, model, upstream, '', '', `skipped: ${limit} ${most} used up`, ...(isSpread ? [''] : [])]);
  const head = ['attempt', 'model', 'upstream', 'ms', 'first ms', 'result', ...(isSpread ? ['why this endpoint'] : [])];
  return `${grid([head, ...rows], terminal, (column) => column === 3 || column === 4).join('\n')}\n`;
}

const resultText = ({ failure, after, charged }: DecisionOutcome['attempts'][number]): string =>
  [
    failure ?? 'answered',
    ...(after === undefined ? [] : [`second attempt after ${after}`]),
    ...(charged === undefined ? [] : [creditsText(charged)]),
  ].join(', ');

function receipt(outcome: DecisionOutcome, hindsight: Explanation['hindsight']): string[] {
  const { status, error, usage, estimated, charged, saved, totalMs } = outcome;
  const tokens = usage
    ? `${usage.inputTokens} input tokens (${usage.cachedInputTokens} cached) and ${usage.outputTokens} output tokens${estimated ? ', counted by Signalbox' : ''}; `
    : '';
  const elsewhere = [
    hindsight?.runnerUp != null && `${creditsText(hindsight.runnerUp)} on the runner-up`,
    hindsight?.baseline != null && `${creditsText(hindsight.baseline)} on the baseline`,
  ].filter((text) => typeof text === 'string');
  return [
    `The request ${error ? `ended as ${status} with ${error}` : `was ${status}`} in ${Math.round(totalMs)} ms: ${tokens}charged ${creditsText(charged)}, saved ${creditsText(saved)}.`,
    ...(elsewhere.length > 0 ? [`The same tokens would have cost ${elsewhere.join(' and ')}.`] : []),
  ];
}
