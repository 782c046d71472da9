import { type Json, listOf, objectOf, textOf } from '../../../plugins/providers/json.ts';
import type { WireRequest } from '../../support/dialects/dialect.ts';

/** OpenAI's older completions at the fake upstream, which builds them from a chat and its answer. */
export const isCompletion = ({ path }: Pick<WireRequest, 'path'>): boolean => path === '/v1/completions';

/** Returns the chat with the prompt of a completion as its message. */
export const asChat = (body: Json): Json => ({
  ...body,
  messages: [{ role: 'user', content: textOf(body.prompt) + textOf(body.suffix) }],
});

/** Returns an answer of a chat, or its chunk, in the form of a completion. */
export function completionOf(answer: object): object {
  const { choices, ...head } = objectOf(answer);
  return {
    ...head,
    id: textOf(head.id).replace('chatcmpl-', 'cmpl-'),
    object: 'text_completion',
    choices: listOf(choices)
      .map(objectOf)
      .map(({ index, message, delta, finish_reason }) => ({
        index,
        text: textOf(objectOf(message ?? delta).content),
        logprobs: null,
        finish_reason,
      })),
  };
}
