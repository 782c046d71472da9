import type { UnservedApi } from './surface.ts';

/** Matches the end of paths of Gemini's API, which begin like a model in the list of models. No model ID ends in this way. */
export const GEMINI_METHOD = /:(?:(?:streamG|g)enerateContent|countTokens|(?:batchE|e)mbedContents?)$/;

/** Paths that clients try, of APIs that no surface serves in part. */
export const UNSERVED_APIS: readonly UnservedApi[] = [
  { path: /^\/api\/(?:chat|generate|tags|embed|embeddings)$/, name: 'Ollama’s API' },
  { path: new RegExp(`^/v1beta/|${GEMINI_METHOD.source}`), name: 'Gemini’s API' },
];
