import { anthropicMessages } from './anthropic-messages/surface.ts';
import { openaiChat } from './openai-chat/surface.ts';
import { openaiEmbeddings } from './openai-embeddings/surface.ts';
import { openaiResponses } from './openai-responses/surface.ts';
import type { Surface } from './surface.ts';

/** The dialects that a server supports. */
export const SURFACES: readonly Surface[] = [openaiChat, anthropicMessages, openaiResponses, openaiEmbeddings];
