import type { Known } from '../../contract/estimator.ts';
import { iso } from '../../core/clock.ts';
import type { LearningMode, LearningPolicy } from '../../core/learning-policy.ts';
import type { LearningActivity } from '../../learning/learner.ts';
import { openLearningReader } from '../../learning/open.ts';
import { type KeyShare, type LearningOverview, overviewOf, type SourceSums } from '../../learning/overview.ts';
import { parseFlags } from '../options.ts';
import { grid, paragraphs } from '../terminal.ts';
import { jsonText, minute } from '../text.ts';
import { count, type LearnCommand, policyFor, reading } from './command.ts';

/** Keys that are told of, those who taught most. */
const KEYS_SHOWN = 10;
/** What is less would be shown as 0. */
const OUTCOMES_SHOWN_MIN = 0.05;
/** A key with less than this left of what it may teach is at its bound. */
const LEFT_MIN = 0.01;

interface Status extends LearningOverview {
  readonly learning: LearningPolicy;
  readonly brier: LearningActivity['brier'];
  /** Of models that outcomes are known of. */
  readonly known: readonly Known[];
  /** Times that the estimator failed at telling. */
  readonly faults: readonly string[];
}

/** `signalbox learn status`: beside a running server or without one. Throws UsageError. */
export async function learnStatus(args: readonly string[], command: LearnCommand): Promise<void> {
  const { json } = parseFlags(args, { json: { type: 'boolean' } });
  const status = await reading(command, async (reader): Promise<Status> => {
    const policy = await policyFor(command, reader);
    const { learning } = policy.snapshot;
    const faults: string[] = [];
    const memory = await openLearningReader(reader, (estimator, where, error) =>
      faults.push(`The estimator ${estimator} failed (${where}): ${error instanceof Error ? error.message : error}.`),
    );
    const { estimator, influenceMax } = learning;
    const overview = await overviewOf(reader, { estimator, influenceMax, now: command.now() });
    const known = memory?.known(policy).filter(({ outcomes }) => outcomes > 0) ?? [];
    const brier = memory?.brier ?? { declared: Number.NaN, estimated: Number.NaN };
    return { ...overview, learning, brier, known, faults };
  });
  await command.write(json ? asJson(status) : asText(status, command.terminal));
}

const MODES: Readonly<Record<LearningMode, string>> = {
  off: 'off: quality is as declared, moved by the length of questions, and nothing is learnt',
  shadow: 'shadow: what outcomes teach is computed and shown, and decides nothing',
  on: 'on: what outcomes teach decides',
};

const SOURCES: Readonly<Record<SourceSums['source'], readonly [one: string, many: string]>> = {
  caller: ['score of callers', 'scores of callers'],
  checks: ['look at an answer', 'looks at answers'],
  retry: ['retry', 'retries'],
};

function asText(status: Status, terminal: boolean): string {
  const { learning, known, keys, faults } = status;
  const head = `Learning is ${MODES[learning.mode]}. The estimator is ${learning.estimator}.`;
  const lines = [head, ...outcomeLines(status), ...briefs(status), ...faults];
  const parts = [paragraphs(lines, terminal)];
  const told = known.filter(({ outcomes }) => outcomes >= OUTCOMES_SHOWN_MIN);
  if (told.length > 0) parts.push(modelTable(told, terminal));
  if (known.length > 0 && keys.length > 1) parts.push(keyTable(keys, terminal));
  const next = nextStep(status);
  if (next) parts.push(paragraphs([next], terminal));
  return parts.join('\n');
}

function outcomeLines({ sources, examples, checkpoint }: Status): string[] {
  if (sources.length === 0) return ['Nothing was learnt yet.'];
  const all = sources.reduce((sum, { outcomes }) => sum + outcomes, 0);
  const withheld = sources.reduce((sum, one) => sum + one.withheld, 0);
  const each = sources.map(({ source, outcomes, learnt }) => {
    const worth = learnt.toLocaleString('en', { maximumFractionDigits: 1 });
    return `${count(outcomes, ...SOURCES[source])} that ${outcomes === 1 ? 'counts' : 'count'} as ${worth}`;
  });
  const lost = withheld > 0 ? ` ${count(withheld, 'score')} counted for nothing: the key had its share.` : '';
  const since = checkpoint
    ? `The last checkpoint goes up to ${minute(checkpoint.at)} UTC; ${count(checkpoint.behind, 'later outcome')} would be learnt again at a start.`
    : 'There is no checkpoint yet: a start would learn all of it again.';
  return [
    `${count(all, 'outcome')} kept: ${each.join(', ')}.${lost}`,
    `${count(examples, 'answer')} can still be scored. ${since}`,
  ];
}

function briefs({ brier: { declared, estimated } }: Status): string[] {
  if (!Number.isFinite(declared)) return [];
  const better = declared - estimated;
  const word = better > 0 ? 'better' : 'worse';
  return [
    `Brier score of callers’ latest scores, lower is better: declared ${declared.toFixed(4)}, estimated ${estimated.toFixed(4)}, ${word} by ${Math.abs(better).toFixed(4)}.`,
  ];
}

const OFF = 'Set `learning: { mode: shadow }` in the policy: outcomes are learnt then, and decide nothing yet.';
const SCORE =
  'Score answers by POST /v1/feedback with their decision_id, and let requests come: answers are looked at as well. docs/feedback.md tells how.';

/** What an operator would do next; null where nothing is to be done. */
function nextStep({ learning: { mode }, sources, brier }: Status): string | null {
  if (mode === 'off') return OFF;
  if (sources.length === 0 || !Number.isFinite(brier.declared)) return SCORE;
  return mode === 'shadow' ? 'signalbox learn replay tells whether `on` would help.' : null;
}

const points = ({ declared, learnt }: Known): number => 100 * (learnt - declared);

const signed = (value: number): string => {
  const text = value.toFixed(1);
  return Number(text) > 0 ? `+${text}` : text.replace('-0.0', '0.0');
};

function modelTable(known: readonly Known[], terminal: boolean): string {
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

const isAtBound = ({ learnt, bound }: KeyShare): boolean => bound - learnt < LEFT_MIN;

/** JSON has no infinity, and no number that is none. */
const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);

function asJson({ learning, sources, examples, checkpoint, brier, keys, known, faults }: Status): string {
  const body = {
    mode: learning.mode,
    estimator: learning.estimator,
    outcomes: sources,
    examples,
    checkpoint: checkpoint && { through: iso(checkpoint.at), behind: checkpoint.behind },
    brier: { declared: finite(brier.declared), estimated: finite(brier.estimated) },
    models: known.map((one) => ({ ...one, difference_points: points(one) })),
    keys: keys.map((one) => ({
      key_id: one.keyId || null,
      learnt: one.learnt,
      share: one.share,
      share_of_chats: one.chats,
      bound: finite(one.bound),
      is_at_bound: isAtBound(one),
    })),
    faults,
  };
  return jsonText(body);
}
