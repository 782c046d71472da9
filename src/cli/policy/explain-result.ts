import { type Static, Type } from '@sinclair/typebox';
import { PolicyExplanation } from '../../admin/policy-explanation.ts';
import { textOf } from '../../core/decision/sentence.ts';
import { SchemaCheck } from '../../core/schema/check.ts';
import { visible } from '../../core/text/visible.ts';
import { UsageError } from '../../core/usage-error.ts';
import { camelKeys } from '../../policy/schema/camel-keys.ts';
import type { CommandResult } from '../result.ts';
import { paragraphs } from '../terminal.ts';
import { jsonText } from '../text.ts';
import { certificateText } from './explain-text.ts';
import { leftOutBriefly } from './setting-text.ts';

/** How to print an explanation. */
interface ExplainForm {
  readonly isJson: boolean;
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
    ...(['choice', 'shortage', 'sentences', 'left_out_here', 'usd_per_credit'] as const),
  ]).properties,
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
  return { text: form.isJson ? jsonText(body) : asText(body, form), code };
}

function asText(body: Printed, { terminal, before = [], after = [], note, folder }: ExplainForm): string {
  const { sentences, left_out_here: missing, usd_per_credit: usdPerCredit } = body;
  const candidates = body.candidates ?? [];
  const lines = [
    ...before,
    ...sentences.map(({ parts }) => textOf(parts)),
    ...after,
    ...(missing.length > 0 ? [`${leftOutBriefly(missing, folder)}.`] : []),
    ...(candidates.some(({ rank }) => rank !== null) ? [legend(usdPerCredit)] : []),
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
const legend = (usdPerCredit: string): string =>
  `Quality is the expected share of good answers. 1 Credit is ${usdPerCredit} USD. Latency is the expected time to the end of the answer, and source shows where the speed comes from.`;
