import type { ReferenceOrigin } from '../../../core/policy/snapshot.ts';

/** The reference price of a policy, as commands print it and the API returns it. */
export const referenceBody = ({ source, model, usd }: ReferenceOrigin) => ({
  input_usd: usd.input,
  output_usd: usd.output,
  source,
  model,
});
export type ReferenceBody = ReturnType<typeof referenceBody>;

const SOURCES = { stated: 'stated in the policy', default: 'the default' } as const;

/** Writes a reference price: `1 USD in and 4 USD out per 1M tokens (the price of luna)`. */
export function referenceText({ input_usd: input, output_usd: output, source, model }: ReferenceBody): string {
  const origin = source === 'model' ? `the price of ${model}` : SOURCES[source];
  return `${input} USD in and ${output} USD out per 1M tokens (${origin})`;
}
