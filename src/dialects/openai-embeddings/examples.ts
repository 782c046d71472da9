import { platform } from '../../core/decision/platform.ts';

/** The request bodies shown in the documentation. Tests check the request bodies against the schemas. */

export const EMBEDDINGS_REQUESTS = {
  one: { summary: 'One text', value: { model: 'text-embedding-3-small', input: 'How signals were worked.' } },
  several: {
    summary: 'Several texts, short vectors, with a hard limit',
    value: {
      model: 'text-embedding-3-large',
      input: ['A semaphore has an arm.', 'A colour light has none.'],
      dimensions: 256,
      encoding_format: 'base64',
      budget_limit: 1,
    },
  },
} as const;

export const EMBEDDINGS_ANSWER = {
  object: 'list',
  data: [{ object: 'embedding', index: 0, embedding: [0.0123, -0.0456, 0.0789] }],
  model: 'text-embedding-3-small',
  usage: { prompt_tokens: 6, total_tokens: 6 },
  platform: {
    ...platform,
    routed_model: 'text-embedding-3-small',
    route_reason: 'pinned',
    credits_consumed: 0.00012,
    cost_saved_credits: 0,
    attempts: [{ ...platform.attempts[0], model: 'text-embedding-3-small', ms: 210, finish_reasons: ['stop'] }],
  },
};
