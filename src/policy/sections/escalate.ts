import { Type } from '@sinclair/typebox';
import { closed, figure, flag, optional, whole } from '../../core/define/fields.ts';
import {
  ESCALATION_NAMES,
  ESCALATION_SIGNALS,
  type EscalationTerms,
  USUAL_SIGNALS,
} from '../../core/request/escalation.ts';
import { ANSWER_SIGNALS } from '../../core/request/failure-kinds.ts';
import { defineSettings, ORDINARY } from '../define/section.ts';
import { camelKeys } from '../schema/camel-keys.ts';

const EscalateText = closed('When a conversation moves to a better model because an answer failed.', {
  on: Type.Array(Type.Union(ESCALATION_NAMES.map((signal) => Type.Literal(signal))), {
    uniqueItems: true,
    maxItems: ESCALATION_NAMES.length,
    default: USUAL_SIGNALS,
    examples: [['stuck_agent', 'correction']],
    description: `The signals that move a conversation: ${Object.entries(ESCALATION_SIGNALS)
      .map(([signal, meaning]) => `\`${signal}\` (${meaning})`)
      .join(', ')}. An empty list turns it off.`,
  }),
  turns: whole(
    'After this number of answers without a signal, the conversation returns to the model for its first question.',
    { minimum: 1, maximum: 100, default: 6 },
  ),
  second_attempt: flag(
    `Whether a better model is tried once in the same request, if the answer is JSON for the caller, not a stream, and shows one of these signals of \`on\`: ${ANSWER_SIGNALS.map((signal) => `\`${signal}\``).join(', ')}. Both attempts are charged.`,
    { default: true, example: false },
  ),
  share_max: optional(
    figure(
      'The highest share, 0 to 1, of the conversations of a key in the last hour that may be escalated. One conversation is always allowed. Default: no limit.',
      { minimum: 0, maximum: 1, example: 0.2 },
    ),
  ),
});

/** The section `escalate`. */
export const ESCALATE = defineSettings({
  name: 'escalate',
  text: EscalateText,
  guard: ORDINARY,
  read: (text): EscalationTerms => ({ ...camelKeys(text), shareMax: text.share_max ?? null }),
});
