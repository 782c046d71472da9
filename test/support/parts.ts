import type { FinishReason, StreamPart } from '../../src/contract/parts.ts';

/** Parts of an answer, as adapters read them. */
export const text = (words: string, choice = 0): StreamPart => ({ type: 'text', choice, text: words });
export const thought = (words: string): StreamPart => ({ type: 'reasoning', choice: 0, text: words });
export const refusal = (words: string): StreamPart => ({ type: 'refusal', choice: 0, text: words });

export const finish = (reason: FinishReason, raw: string = reason, choice = 0, stop?: string): StreamPart => ({
  type: 'finish',
  choice,
  reason,
  raw,
  ...(stop !== undefined && { stop }),
});

export const used = (
  inputTokens: number,
  cached: number,
  written: number,
  outputTokens: number,
  reasoningTokens: number,
): Extract<StreamPart, { readonly type: 'usage' }> => ({
  type: 'usage',
  usage: {
    ...{ inputTokens, outputTokens, reasoningTokens },
    ...(cached + written > 0 && {
      units: { ...(cached > 0 && { cached_input: cached }), ...(written > 0 && { cache_write: written }) },
    }),
  },
});

/** Usage of an answer that states the default service tier. */
export const usedByDefault = (...counts: Parameters<typeof used>): StreamPart => ({
  ...used(...counts),
  serviceTier: 'default',
});

/** Returns the parts without output that is only counted. */
export const shownOf = (parts: readonly StreamPart[]): readonly StreamPart[] =>
  parts.filter(({ type }) => type !== 'unread');

/** A complete tool call. */
export const toolCall = (index: number, id: string, name: string, args: string, extra?: object): StreamPart => ({
  type: 'tool-call',
  choice: 0,
  index,
  id,
  name,
  arguments: args,
  ...(extra && { extra: { ...extra } }),
});

/** A part with the model's internal state, as details. */
export const details = (...entries: readonly object[]): StreamPart => ({
  type: 'state',
  choice: 0,
  details: entries.map((entry) => ({ ...entry })),
});
