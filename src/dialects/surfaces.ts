import { anthropicMessages } from './anthropic-messages/surface.ts';
import { googleGemini } from './google-gemini/surface.ts';
import { openaiChat } from './openai-chat/surface.ts';
import { openaiCompletions } from './openai-completions/surface.ts';
import { openaiEmbeddings } from './openai-embeddings/surface.ts';
import { openaiResponses } from './openai-responses/surface.ts';
import type { Surface, UnservedApi } from './surface.ts';
import { UNSERVED_APIS } from './unserved.ts';

/** The dialects that a server supports. */
export const SURFACES: readonly Surface[] = [
  openaiChat,
  anthropicMessages,
  openaiResponses,
  openaiEmbeddings,
  googleGemini,
  openaiCompletions,
];

/** Paths that clients try, with or without `/v1`, and that Signalbox does not serve. */
export const UNSERVED: readonly UnservedApi[] = [
  ...SURFACES.flatMap(({ unserved = [] }) => unserved),
  ...UNSERVED_APIS,
];
