import type { UnservedApi } from './surface.ts';

/** Paths that clients try, of APIs that no surface serves in part. */
export const UNSERVED_APIS: readonly UnservedApi[] = [
  { path: /^\/api\/(?:chat|generate|tags|embed|embeddings)$/, name: 'Ollama’s API' },
];
