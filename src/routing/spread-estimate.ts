import type { Readings } from '../core/decision/readings.ts';
import type { Model } from '../core/policy/snapshot.ts';
import { ceilingRejections, type Requirements } from './constrain.ts';
import { expectedCost, expectedLatency, warmEndpoint } from './estimate.ts';

/** The expected cost and latency of a request at an endpoint or a model. */
interface ExpectedFigures {
  /** C, Credits. */
  readonly costCredits: number;
  /** L, ms. */
  readonly latencyMs: number;
}

/** The endpoints over which the requests for a model are spread, with the figures that count for the model. */
interface SpreadEstimate extends ExpectedFigures {
  readonly endpoints: readonly number[];
  /** The ceilings that exclude the model; 0 for none. */
  readonly rejections: number;
}

/**
 * Estimates a model whose requests are spread over several endpoints. An endpoint whose own figures exceed a ceiling gets no request. A
 * conversation that an endpoint has in its cache has the figures of that endpoint; any other request has the mean of its first group by
 * weight (`weighted`) or with equal shares (`least_busy`), or the figures of the fastest or the cheapest endpoint.
 * @param payable the endpoints that the caller's funds can pay for, at least one
 * @param input expected tokens of input
 * @param reasoning expected hidden reasoning tokens of one choice
 */
export function spreadOver(
  model: Model,
  payable: readonly number[],
  inputs: Requirements & { readonly readings: Readings },
  input: number,
  reasoning: number,
): SpreadEstimate {
  const { facts, writing, readings } = inputs;
  const all = payable.map((at): EndpointFigures => {
    const costCredits = expectedCost(model, at, facts, writing, input, reasoning);
    const latencyMs = expectedLatency(model, at, facts, readings, writing, reasoning);
    return { at, costCredits, latencyMs, rejections: ceilingRejections(inputs, costCredits, latencyMs) };
  });
  const within = all.filter((one) => one.rejections === 0);
  const open = within.length > 0 ? within : all;
  const warm = warmEndpoint(facts, model);
  const { costCredits, latencyMs } = open.find(({ at }) => at === warm) ?? usualFigures(model, open);
  return {
    endpoints: open.length === payable.length ? payable : open.map(({ at }) => at),
    costCredits,
    latencyMs,
    rejections: within.length > 0 ? 0 : all.reduce((bits, one) => bits | one.rejections, 0),
  };
}

interface EndpointFigures extends ExpectedFigures {
  readonly at: number;
  readonly rejections: number;
}

function usualFigures({ spread, endpoints }: Model, open: readonly EndpointFigures[]): ExpectedFigures {
  const priorityOf = ({ at }: EndpointFigures) => endpoints[at]!.priority ?? 0;
  const first = Math.min(...open.map(priorityOf));
  const group = open.filter((one) => priorityOf(one) === first);
  switch (spread) {
    case 'fastest':
      return leastOf(group, ({ latencyMs }) => latencyMs);
    case 'cheapest':
      return leastOf(group, ({ costCredits }) => costCredits);
    case 'weighted':
      return meanOf(group, ({ at }) => endpoints[at]!.weight ?? 1);
    default:
      return meanOf(group, () => 1);
  }
}

/**
 * Returns the endpoints that may get the first attempt of a request, of those that may be tried: the first, or with `spread` the first group.
 * @param endpoints the indexes of the endpoints, at least one
 */
export function firstEndpoints({ spread, endpoints: all }: Model, endpoints: readonly number[]): readonly number[] {
  if (spread === undefined) return endpoints.slice(0, 1);
  const priorityOf = (at: number) => all[at]!.priority ?? 0;
  const first = Math.min(...endpoints.map(priorityOf));
  const group = endpoints.filter((at) => priorityOf(at) === first);
  const weighted = group.filter((at) => all[at]!.weight !== 0);
  return (spread === 'weighted' || spread === 'least_busy') && weighted.length > 0 ? weighted : group;
}

const leastOf = (group: readonly EndpointFigures[], figureOf: (one: ExpectedFigures) => number): ExpectedFigures =>
  group.reduce((best, one) => (figureOf(one) < figureOf(best) ? one : best));

function meanOf(group: readonly EndpointFigures[], weightOf: (one: EndpointFigures) => number): ExpectedFigures {
  const whole = group.reduce((sum, one) => sum + weightOf(one), 0);
  // Without any weight, the first endpoint of the group gets all requests.
  if (whole === 0) return group[0]!;
  let [costCredits, latencyMs] = [0, 0];
  for (const one of group) {
    costCredits += (one.costCredits * weightOf(one)) / whole;
    latencyMs += (one.latencyMs * weightOf(one)) / whole;
  }
  return { costCredits, latencyMs };
}
