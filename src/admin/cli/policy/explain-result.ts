import { type Static, Type } from '@sinclair/typebox';
import { SchemaCheck } from '../../../core/schema/check.ts';
import { visible } from '../../../core/text/visible.ts';
import { UsageError } from '../../../core/usage-error.ts';
import { camelKeys } from '../../../policy/schema/camel-keys.ts';
import { percent } from '../../../routing/advise.ts';
import { PolicyExplanation } from '../../policy-explanation.ts';
import type { CommandResult } from '../result.ts';
import { paragraphs } from '../terminal.ts';
import { jsonText } from '../text.ts';
import { certificateText } from './explain-text.ts';
import { leftOutBriefly } from './setting-text.ts';

/** How to print an explanation. */
interface ExplainForm {
  readonly json: boolean;
  readonly terminal: boolean;
  /** Sentences before the explanation; `after` has sentences that follow it. */
  readonly before?: readonly string[];
  readonly after?: readonly string[];
  /** The last sentence, which says what the explanation does not consider. */
  readonly note: string;
  /** The policy folder of the explanation; null if a server explained with its own policy. */
  readonly folder: string | null;
}

const { properties } = PolicyExplanation;
/** The parts of an explanation that are printed. Other parts may be missing in answers of earlier versions. */
const Printed = Type.Object({
  ...Type.Pick(PolicyExplanation, [
    ...(['choice', 'shortage', 'explanation', 'hold_note', 'task_note', 'task_reasons'] as const),
    ...(['failed_rules', 'left_out_here', 'usd_per_credit'] as const),
  ]).properties,
  facts: Type.Pick(properties.facts, ['task', 'pinned']),
  tier: Type.Optional(properties.tier),
  candidates: Type.Union([
    Type.Array(
      Type.Pick(properties.candidates.anyOf[0].items, [
        ...(['model', 'rank', 'quality', 'counted_quality', 'cost_credits', 'latency_ms'] as const),
        ...(['latency_basis', 'utility', 'parts', 'rejections'] as const),
      ]),
    ),
    Type.Null(),
  ]),
});
type Printed = Static<typeof Printed>;
const check = new SchemaCheck(Printed);

/**
 * Prints an explanation as text or JSON. The exit code is 2 for a refusal.
 * @param body the answer of the API
 * @throws UsageError if the answer does not have the expected form
 */
export function explanationResult(body: unknown, form: ExplainForm): CommandResult {
  if (!check.accepts(body)) {
    throw new UsageError(
      'The answer does not have the expected form. Check that --url names a Signalbox server of this version.',
    );
  }
  const code = body.choice === null || body.shortage !== null ? 2 : 0;
  return { text: form.json ? jsonText(body) : asText(body, form), code };
}

function asText(body: Printed, { terminal, before = [], after = [], note, folder }: ExplainForm): string {
  const { explanation, task_note, task_reasons, hold_note, failed_rules, left_out_here: missing } = body;
  const candidates = body.candidates ?? [];
  const lines = [
    ...before,
    ...(task_note ? [task_note] : []),
    ...(task_reasons ? [taskText(task_reasons)] : []),
    ...(explanation ?? []),
    ...(hold_note ? [hold_note] : []),
    ...after,
    ...failed_rules.map(
      ({ name, error }) => `The condition of ${name} failed, so Signalbox treated it as true: ${error}.`,
    ),
    ...(missing.length > 0 ? [`${leftOutBriefly(missing, folder)}.`] : []),
    ...(candidates.some(({ rank }) => rank !== null) ? legend(body) : []),
    note,
  ];
  const rows = candidates.map(({ rejections, ...figures }) => ({
    ...camelKeys(figures),
    model: visible(figures.model),
    rejections: rejections.map(({ text, rules }) => ({ text, rules: rules.map((place) => ({ place })) })),
  }));
  return `${certificateText({ candidates: rows }, terminal)}\n${paragraphs(lines, terminal)}`;
}

/** Explains the columns of the table. */
const legend = (body: Printed): string[] => {
  const { usd_per_credit: usdPerCredit } = body;
  const words = `Quality is the expected share of good answers. 1 Credit is ${usdPerCredit} USD. Latency is the expected time to the end of the answer, and source shows where the speed comes from. ${orderText(body)}`;
  return [words];
};

/** Says what decides the order of the eligible models. */
function orderText({ tier, facts, candidates }: Printed): string {
  if (tier)
    return 'The models have the order of the selector for typical requests; the first one that is good enough is chosen. Another can cost less, or be faster, for this request.';
  if (facts.pinned) return 'The request names its model, so the utility does not decide.';
  const utilities = (candidates ?? []).flatMap(({ rank, utility }) => (rank === null ? [] : [utility ?? 0]));
  // The models of a list of fallbacks are in the order of the list.
  return utilities[0] === Math.max(...utilities) ? 'The highest utility wins.' : 'The utility does not decide here.';
}

const PLACES: Readonly<Record<string, string>> = {
  'system prompt': ' in the system prompt',
  'question before': ' in the question before',
};

/**
 * Writes, for example: `Task: classification (81 % likely, because of “classify”, “tickets” in the system prompt; “label”).`
 */
function taskText({ task, share, words }: NonNullable<Printed['task_reasons']>): string {
  const places = Map.groupBy(words, ({ of }) => of);
  const signs = [...places].map(
    ([of, all]) => `${all.map(({ text }) => `“${visible(text)}”`).join(', ')}${PLACES[of] ?? ''}`,
  );
  const reasons = `${percent(share)} likely${signs.length > 0 ? `, because of ${signs.join('; ')}` : ''}`;
  return `Task: ${task} (${reasons}).`;
}
