import { defineStrategy, Type } from 'signalbox/plugin';

/** Weighs quality against cost: a good answer is worth as much as 20 references of the request. */
export const exampleStrategy = defineStrategy({
  // The name that selectors of a policy use.
  name: 'example',
  status: 'alpha',
  // The schema of a selector's options. The policy check reports a wrong option with its line.
  options: Type.Object(
    {
      thrift: Type.Number({
        minimum: 0,
        maximum: 100,
        default: 1,
        description: 'The weight of cost compared with quality.',
      }),
    },
    { additionalProperties: false },
  ),
  // Called once for each selector when the policy is loaded. Throw an Error to refuse options that contradict each other.
  prepare: ({ thrift }) => ({
    // The second part of `route_reason`.
    reason: 'value',
    // Called for each request. Writes a utility for each candidate; larger is better, and -Infinity excludes the candidate. The utility
    // should grow with quality and fall with cost and latency. If the utility does not, a model could win that is worse in everything.
    score({ n, quality, cost, reference }, out) {
      for (let i = 0; i < n; i++) out[i] = quality[i]! - (thrift * cost[i]!) / (20 * reference);
    },
    // Optional: the parts of a utility by name, for explanations.
    parts: ({ quality, cost, reference }, at) => ({
      quality: quality[at]!,
      cost: (-thrift * cost[at]!) / (20 * reference),
    }),
  }),
});
