import type { GuardForm } from '../../contract/guard.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import type { AnswerText } from './answer-texts.ts';
import { Channel } from './channel.ts';
import type { EndedChoice } from './held-parts.ts';

/** The parts of a request that say which form its answer should have. */
export type FormRequest = Pick<ModelRequest, 'conversation' | 'settings'>;

/** The arguments of a function without parameters. */
const ANY_OBJECT: GuardForm = { schema: { type: 'object' } };

/**
 * Returns the texts of an ended choice that can have a wanted form: the arguments of each call, or the text of a choice without calls. A refusal
 * has no form, and neither has a text that continues a text of the caller or stands around the results of the provider's own tools.
 * @param textOf returns the text of a channel, with or without its edits
 */
export function formTexts(
  { choice, reason, channels }: EndedChoice,
  { conversation, settings: { answerFormat } }: FormRequest,
  textOf: (channel: Channel) => string,
): readonly AnswerText[] {
  const isCut = reason === 'length' ? ({ isCut: true } as const) : {};
  const textIn = (channel: Channel, form?: GuardForm): AnswerText => ({
    text: textOf(channel),
    role: 'assistant',
    kind: channel.kind,
    channel,
    token: null,
    ...(form && { form }),
    ...isCut,
  });
  const calls = channels.filter(({ type }) => type === 'tool-call');
  if (calls.length > 0) {
    const parameters = new Map(conversation.tools.map((tool) => [tool.name, tool.parameters]));
    return calls.map((call) => {
      const schema = parameters.get(call.tool);
      return textIn(call, schema ? { schema } : ANY_OBJECT);
    });
  }
  const isRefused = reason === 'content_filter' || channels.some(({ type }) => type === 'refusal');
  const isAround = conversation.nativeTools !== undefined || channels.some(({ type }) => type === 'unread');
  const isPiece = conversation.turns.at(-1)?.role === 'assistant';
  if (isRefused || isAround || isPiece || conversation.isWarmUp) return [];
  const wanted = answerFormat !== undefined && answerFormat.type !== 'text';
  const text = channels.find(({ type }) => type === 'text') ?? new Channel('text', choice);
  return [textIn(text, wanted ? { schema: answerFormat.schema ?? null } : undefined)];
}
