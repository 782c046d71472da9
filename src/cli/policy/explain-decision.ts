import { Decision, shownDecision } from '../../admin/decision.ts';
import { explainStoredDecision } from '../../admin/use-cases/policy/stored-decision.ts';
import { FULL_SIGHT } from '../../admin/use-cases/sight.ts';
import type { DecisionOutcome } from '../../core/decision/outcome.ts';
import { isAnsweredHere } from '../../core/decision/record.ts';
import { type Sentence, textsOf } from '../../core/decision/sentence.ts';
import { json as jsonOf } from '../../core/define/fields.ts';
import { idText } from '../../core/id.ts';
import { usdWriter } from '../../core/money/usd.ts';
import { creditsText } from '../../core/text/text.ts';
import { UsageError } from '../../core/usage-error.ts';
import { recordStory } from '../../gateway/request/record-story.ts';
import type { Explanation } from '../../gateway/request/recorded-certificate.ts';
import { spreadReason } from '../../routing/spread-text.ts';
import type { CommandResult } from '../result.ts';
import { grid, paragraphs } from '../terminal.ts';
import { jsonText, minute } from '../text.ts';
import { operator } from '../user.ts';
import type { PolicyCommand } from './command.ts';
import { type ExplainLine, refuseOthers } from './explain-input.ts';
import { certificateText } from './explain-text.ts';

/** Runs `signalbox policy explain --decision` from the stored records, whether a server is running or not. Throws UsageError. */
export async function runExplainDecision(line: ExplainLine, command: PolicyCommand): Promise<CommandResult> {
  const { input, isJson, words } = line;
  const { decision = '' } = input;
  refuseOthers(line, ['--decision']);
  if (words.length > 1) throw new UsageError('policy explain --decision takes at most one folder.');
  const folder = words[0] ?? command.folder;
  const { explanation, keyName, usdPerCredit } = await explainStoredDecision(operator(), decision, {
    ...command,
    folder,
  });
  const { terminal } = command;
  const sight = { ...FULL_SIGHT, nameOf: () => keyName };
  const text = isJson
    ? jsonText(jsonOf(Decision, shownDecision(explanation, sight), { usd: usdWriter(usdPerCredit) }))
    : decisionText(explanation, terminal);
  return { text, code: explanation.matches || isAnsweredHere(explanation.record) ? 0 : 2 };
}

/** Prints the sentences about a decision between its tables. */
function decisionText(explanation: Explanation, terminal: boolean): string {
  const { record, certificate } = explanation;
  const { id, kind, keyId, time, revision, choice, outcome } = record;
  const head = `${idText('dec_', id)}: ${kind} with the key ${keyId}, ${minute(time)} UTC, policy ${revision}.${choice === '' ? '' : ` Chosen model: ${choice}.`}`;
  const sentences = recordStory(explanation);
  const isFirst = ({ about }: Sentence) => about === 'outcome' || about === 'replay';
  const isLast = ({ about }: Sentence) => about === 'money';
  const reasons = sentences.filter((one) => !isFirst(one) && !isLast(one));
  const parts = [
    paragraphs([head, ...textsOf(sentences.filter(isFirst))], terminal),
    ...(certificate ? [certificateText(certificate, terminal)] : []),
    ...(reasons.length > 0 ? [paragraphs(textsOf(reasons), terminal)] : []),
    ...(outcome && hasAttempts(outcome) ? [attemptsText(outcome, terminal)] : []),
    ...(outcome ? [paragraphs(textsOf(sentences.filter(isLast)), terminal)] : []),
  ];
  return parts.join('\n');
}

/** Whether a model was called or skipped; the cache answers without. */
const hasAttempts = ({ attempts, full = [] }: DecisionOutcome): boolean => attempts.length + full.length > 0;

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
