import { Type } from '@sinclair/typebox';
import * as f from '../define/fields.ts';
import { toCredits } from '../money/credits.ts';
import { GUARD_SIDES } from '../policy/guard-texts.ts';
import { UNREADABLE } from '../policy/guards.ts';
import { decisionId, modelId } from './shared-fields.ts';

/** What guards found in a request or an answer, and what their calls of models cost. Each member is stated once, as in `attempt.ts`. */

const ACTIONS = { block: 'blocked', mask: 'masked', repair: 'repaired', flag: 'only counted' } as const;
/** The action after matches. `repair` replaced the text of an answer by a text that the guard accepts. */
export type VerdictAction = keyof typeof ACTIONS;

const RECORDED_VERDICT = {
  guard: f.text('The name of the guard in the policy.', 'personal-data'),
  side: f.word(GUARD_SIDES, '`input`: the request. `output`: the answer.'),
  action: f.word(
    Object.keys(ACTIONS) as VerdictAction[],
    'What the matches led to. A match that could not be masked has `block`. An answer that the guard repaired has `repair`.',
    'mask',
  ),
  matches: Type.Record(Type.String(), Type.Integer({ minimum: 0 }), {
    description: 'How many matches the guard found, by kind.',
    examples: [{ email: 2 }],
  }),
};
const RARE_IN_VERDICT = {
  failed: f.orAbsent(false, f.flag('True if the guard failed, or took too long.', false)),
  unreadable: f.orAbsent(
    null,
    f.orNull(
      f.word(UNREADABLE, 'A kind of content.'),
      'The kind of content that the guard refused because it cannot read it; null for none.',
    ),
  ),
};

/** The findings of one guard on one side. Verdicts contain no text: every name is part of the policy or of a plugin. */
export interface GuardVerdict extends f.ObjectValue<typeof RECORDED_VERDICT & typeof RARE_IN_VERDICT> {
  /** Why the guard failed, at most 200 characters. Only operators and the owner of the request may see it. */
  readonly reason?: string;
}

/** A verdict in an answer. */
export const Verdict = f.view<GuardVerdict>()('What a guard found. It contains names and numbers, no text.', {
  ...RECORDED_VERDICT,
  text: f.from<GuardVerdict>()(
    (verdict) => verdictText(verdict),
    f.text('The verdict as a sentence.', 'The guard personal-data found 2 email in the request: masked.'),
  ),
  ...RARE_IN_VERDICT,
});

const CALL = {
  guard: f.text('The name of the guard in the policy.', 'injection'),
  side: f.word(GUARD_SIDES, '`input`: it judged the request. `output`: it judged the answer.'),
  model: modelId('The model that the guard called.'),
  entry: f.id('dec_', decisionId),
  credits_consumed: f.as(
    'charged',
    f.credits('The charge of the call, in addition to the charge of the request.', 0.15),
  ),
  ms: f.milliseconds('From the beginning of the call to its end.', 240),
};

/** A call of a guard to a model of the policy. The caller of the request pays for it with a hold of its own. */
export interface GuardCall extends f.ObjectValue<typeof CALL> {}

/** A call in an answer. */
export const Call = f.view<GuardCall>()(
  'A call of a guard to a model. `entry` is the ID of its entries in the ledger.',
  {
    ...CALL,
    text: f.from<GuardCall>()(
      (call) => callText(call),
      f.text('The call as a sentence.', 'The guard injection asked small about the request: 240 ms, 0.15 Credits.'),
    ),
  },
);

/** Writes a verdict as a sentence, with the reason of a failure if the verdict has it. */
export function verdictText({ guard, side, action, matches, failed, reason, unreadable }: GuardVerdict): string {
  const where = side === 'input' ? 'request' : 'answer';
  if (failed) {
    const result = action === 'block' ? 'blocked' : 'not inspected';
    return `The guard ${guard} failed, so the ${where} was ${result}.${reason ? ` The reason: ${reason}.` : ''}`;
  }
  if (unreadable) return `The guard ${guard} refused the request, because it cannot read ${unreadable}.`;
  const found = Object.entries(matches).map(([kind, count]) => `${count} ${kind}`);
  return `The guard ${guard} found ${found.join(', ')} in the ${where}: ${ACTIONS[action]}.`;
}

/** Writes a verdict without the reason of a failure, which only operators may see. */
export const plainVerdict = ({ reason: _, ...verdict }: GuardVerdict): GuardVerdict => verdict;

/** Writes a call of a guard to a model as a sentence. */
function callText({ guard, side, model, charged, ms }: GuardCall): string {
  const about = side === 'input' ? 'request' : 'answer';
  return `The guard ${guard} asked ${model} about the ${about}: ${ms} ms, ${toCredits(charged)} Credits.`;
}

/**
 * The action of a guard on a request or an answer. `block`, `mask`, `repair` and `flag` are the actions after a match, or after content that
 * the guard cannot read. `failed`: the guard failed.
 */
export const GUARD_FINDINGS = ['block', 'mask', 'flag', 'failed', 'repair'] as const;
export type GuardFinding = (typeof GUARD_FINDINGS)[number];

/** The findings of a verdict: a guard that failed may have found something before. */
export const findingsOf = ({ action, matches, failed, unreadable }: GuardVerdict): readonly GuardFinding[] => {
  const isMatch = unreadable !== undefined || Object.keys(matches).length > 0;
  return [...(isMatch ? [action] : []), ...(failed ? (['failed'] as const) : [])];
};
