import { openaiChat } from './openai-chat/surface.ts';
import { openaiEmbeddings } from './openai-embeddings/surface.ts';
import type { Surface } from './surface.ts';

/** The dialects that a server speaks. */
export const SURFACES: readonly Surface[] = [openaiChat, openaiEmbeddings];
