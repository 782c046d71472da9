import { defineStrategy, Type } from 'signalbox/plugin';

/** Quality against cost: a good answer is worth so much, and each Credit takes something away. */
export const exampleStrategy = defineStrategy({
  // What selectors of a policy call it.
  name: 'example',
  status: 'alpha',
  // What a selector may set. A policy is checked by this schema, and a wrong option is an error at its line.
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
    // Called for each request: a utility for each candidate, larger is better, -Infinity for not wanted. It should grow
    // with quality and fall with cost and latency, or a model could win that is worse in everything.
    score({ n, quality, cost, costReference }, out) {
      for (let i = 0; i < n; i++) out[i] = quality[i]! - (thrift * cost[i]!) / costReference;
    },
    // What explanations show of a utility: its parts, by name. May be left out.
    parts: ({ quality, cost, costReference }, at) => ({
      quality: quality[at]!,
      cost: (-thrift * cost[at]!) / costReference,
    }),
  }),
});
