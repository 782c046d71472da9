import { defineStrategy, Type } from 'signalbox/plugin';

/** Quality against cost: the utility is the quality, less the weighted cost. */
export const exampleStrategy = defineStrategy({
  // Selectors of a policy refer to it by this name.
  name: 'example',
  status: 'alpha',
  // The schema of a selector's options. A wrong option is an error at its line of the policy.
  options: Type.Object(
    {
      thrift: Type.Number({
        minimum: 0,
        maximum: 100,
        default: 1,
        description: 'How much cost counts against quality.',
      }),
    },
    { additionalProperties: false },
  ),
  // Called once for each selector, when the policy is loaded. Throw an Error to refuse options that do not go together.
  prepare: ({ thrift }) => ({
    // The second half of `route_reason`.
    reason: 'value',
    // Called for each request: a utility for each candidate; larger is better, -Infinity excludes. It should grow
    // with quality and fall with cost and latency, or a model could win that is worse in everything.
    score({ n, quality, cost, costReference }, out) {
      for (let i = 0; i < n; i++) out[i] = quality[i]! - (thrift * cost[i]!) / costReference;
    },
    // Optional: the parts of a utility by name, for explanations.
    parts: ({ quality, cost, costReference }, at) => ({
      quality: quality[at]!,
      cost: (-thrift * cost[at]!) / costReference,
    }),
  }),
});
