import type { ModelKnowledge } from '../../contract/estimator.ts';
import { commandName } from '../../core/command-name.ts';
import type { LearningMode } from '../../core/learning-policy.ts';
import type { KeyShare } from '../../learning/overview.ts';
import { learningPolicy } from '../../operate/learning/policy.ts';
import {
  isAtBound,
  type LearningStatus,
  learningBody,
  points,
  storedLearningStatus,
} from '../../operate/learning/status.ts';
import type { SourceSums } from '../../store/learning.ts';
import { parseFlags, SWITCH } from '../arguments.ts';
import { grid, paragraphs } from '../terminal.ts';
import { count, jsonText, minute } from '../text.ts';
import { operator } from '../user.ts';
import { type LearnCommand, reading } from './command.ts';

/** Keys that are listed: those with the most weight. */
const KEYS_SHOWN = 10;
/** Fewer outcomes would be shown as 0. */
const OUTCOMES_SHOWN_MIN = 0.05;

/** `signalbox learn status`: beside a running server or without one. Throws UsageError. */
export async function learnStatus(args: readonly string[], command: LearnCommand): Promise<string> {
  const { json } = parseFlags(args, { json: SWITCH });
  const { folder, judge } = command;
  const status = await reading(command, async (reader) =>
    storedLearningStatus(operator(), reader, await learningPolicy(folder, judge, reader), judge.now()),
  );
  return json ? jsonText(learningBody(status)) : asText(status, command.terminal);
}

const MODES: Readonly<Record<LearningMode, string>> = {
  off: 'off: quality is as declared, corrected by the length of questions',
  shadow: 'shadow: learned estimates are computed and shown, but do not affect decisions',
  on: 'on: learned estimates affect decisions',
};

const SOURCES: Readonly<Record<SourceSums['source'], readonly [one: string, many: string]>> = {
  caller: ['score by callers', 'scores by callers'],
  checks: ['check of an answer', 'checks of answers'],
  retry: ['retry', 'retries'],
};

function asText(status: LearningStatus, terminal: boolean): string {
  const { learning, known, keys, faults } = status;
  const head = `Learning is ${MODES[learning.mode]}. The estimator is ${learning.estimator}.`;
  const lines = [head, ...outcomeLines(status), ...briefs(status), ...faults];
  const parts = [paragraphs(lines, terminal)];
  const shown = known.filter(({ outcomes }) => outcomes >= OUTCOMES_SHOWN_MIN);
  if (shown.length > 0) parts.push(modelTable(shown, terminal));
  if (known.length > 0 && keys.length > 1) parts.push(keyTable(keys, terminal));
  const next = nextStep(status);
  if (next) parts.push(paragraphs([next], terminal));
  return parts.join('\n');
}

function outcomeLines({ sources, examples, checkpoint }: LearningStatus): string[] {
  if (sources.length === 0) return ['Nothing was learned yet.'];
  const all = sources.reduce((sum, { outcomes }) => sum + outcomes, 0);
  const withheld = sources.reduce((sum, one) => sum + one.withheld, 0);
  const each = sources.map(({ source, outcomes, learnt }) => {
    const worth = learnt.toLocaleString('en', { maximumFractionDigits: 1 });
    return `${count(outcomes, ...SOURCES[source])} that ${outcomes === 1 ? 'counts' : 'count'} as ${worth}`;
  });
  const lost =
    withheld > 0 ? ` ${count(withheld, 'score')} had no effect: the key had reached its share of influence.` : '';
  const since = checkpoint
    ? `The last checkpoint goes up to ${minute(checkpoint.at)} UTC; ${count(checkpoint.behind, 'later outcome')} would be learned again at a start.`
    : 'There is no checkpoint yet: a start learns all outcomes again.';
  return [
    `${count(all, 'outcome')} kept: ${each.join(', ')}.${lost}`,
    `${count(examples, 'answer')} can still be scored. ${since}`,
  ];
}

function briefs({ brier: { declared, estimated } }: LearningStatus): string[] {
  if (!Number.isFinite(declared)) return [];
  const better = declared - estimated;
  const word = better > 0 ? 'better' : 'worse';
  return [
    `Brier score of callers’ latest scores, lower is better: declared ${declared.toFixed(4)}, estimated ${estimated.toFixed(4)}, ${word} by ${Math.abs(better).toFixed(4)}.`,
  ];
}

const OFF = 'To learn without affecting decisions, set `learning: { mode: shadow }` in the policy.';
const SCORE = 'Score answers with POST /v1/feedback and their decision_id. See docs/route/learning.md.';

/** The operator's next step; null for none. */
function nextStep({ learning: { mode }, sources, brier }: LearningStatus): string | null {
  if (mode === 'off') return OFF;
  if (sources.length === 0 || !Number.isFinite(brier.declared)) return SCORE;
  return mode === 'shadow' ? `To see whether \`on\` would help, run: ${commandName()} learn replay` : null;
}

const signed = (value: number): string => {
  const text = value.toFixed(1);
  return Number(text) > 0 ? `+${text}` : text.replace('-0.0', '0.0');
};

function modelTable(known: readonly ModelKnowledge[], terminal: boolean): string {
  const head = ['model', 'task', 'outcomes', 'declared', 'learnt', 'points'];
  const rows = known.map((one) => [
    one.model,
    one.task ?? 'all',
    one.outcomes.toLocaleString('en', { maximumFractionDigits: 1 }),
    one.declared.toFixed(3),
    one.learnt.toFixed(3),
    signed(points(one)),
  ]);
  return `${grid([head, ...rows], terminal, (column) => column > 1).join('\n')}\n`;
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

function keyTable(keys: readonly KeyShare[], terminal: boolean): string {
  const head = ['key', 'learnt', 'share', 'of chats', ''];
  const rows = keys
    .slice(0, KEYS_SHOWN)
    .map((one) => [
      one.keyId || 'others',
      one.learnt.toFixed(1),
      percent(one.share),
      percent(one.chats),
      isAtBound(one) ? 'at its bound' : '',
    ]);
  const lines = grid([head, ...rows], terminal, (column) => column > 0 && column < 4);
  if (keys.length > KEYS_SHOWN) lines.push(`and ${count(keys.length - KEYS_SHOWN, 'more key')}`);
  return `${lines.join('\n')}\n`;
}
