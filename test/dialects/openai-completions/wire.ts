import type { Dialect, Event, Tokens } from '../../fault/dialect.ts';
import { JUNK } from '../../fault/sample-texts.ts';
import { openai } from '../../fault/wire-openai.ts';

/** `text_completion` and its chunks, after the types of `openai` 7.59.0, resources/completions. Everything else is as in chats. */
const frame = { id: `cmpl-${JUNK}`, object: 'text_completion', created: 1_760_000_000, model: JUNK };

const piece = (choices: readonly object[], usage: Tokens | null): Event => ({
  ...frame,
  choices,
  ...(usage && openai.counted(usage)),
});
const choice = (text: string, finish_reason: string | null) => ({ text, index: 0, logprobs: null, finish_reason });

/** The dialect of a server that continues texts. No request offers it a tool, so no answer calls one. */
export const completionsWire: Dialect = {
  ...openai,
  path: () => '/completions',
  opening: () => [],
  word: (text, running) => [piece([choice(text, null)], running)],
  finish: (reason, usage) => [piece([choice('', reason)], null), ...(usage ? [piece([], usage)] : [])],
  report: (usage) => [piece([], usage)],
  reply: (text, usage, isEnded = true) => JSON.stringify(piece([choice(text, isEnded ? 'stop' : null)], usage)),
  replyEndedTwice: (text, usage) => JSON.stringify(piece([choice(text, 'stop'), choice(JUNK, 'length')], usage)),
  emptyEvents: (usage) => [piece([], usage)],
  emptyReply: (usage) => JSON.stringify(piece([], usage)),
};
