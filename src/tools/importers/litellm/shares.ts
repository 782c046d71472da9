import { numberOf } from './amounts.ts';
import type { ImportContext } from './context.ts';
import type { Deployment } from './entries.ts';
import type { CommonSettings } from './settings.ts';
import { scalarText, valueAt } from './tree.ts';

/** The share of the requests that an endpoint states. */
export interface EndpointShare {
  /** The number of its group: 0 for the deployments with the lowest `order` of the name. */
  readonly priority: number;
  /** Null if all endpoints of the group have the same share. */
  readonly weight: number | null;
  readonly limits: EndpointLimits;
}

interface EndpointLimits {
  readonly requests_per_minute: number | null;
  readonly tokens_per_minute: number | null;
  readonly concurrent_requests: number | null;
}

type RouterSettings = Pick<CommonSettings, 'spread' | 'parallelMax'>;

/** Reads the shares of all deployments of a name, and records the outcome of their keys. */
export function readShares(
  models: readonly (readonly Deployment[])[],
  router: RouterSettings,
  context: ImportContext,
): Map<Deployment, EndpointShare> {
  const all = models.flat();
  const orders = [...new Set(all.map(orderOf))].sort((a, b) => (a < b ? -1 : 1));
  const shares = new Map<Deployment, EndpointShare>();
  for (const deployments of models) {
    const groups = Map.groupBy(deployments, (one) => orders.indexOf(orderOf(one)));
    for (const [priority, group] of groups) {
      const counted = router.spread === 'weighted' && group.length > 1 ? countedKey(group) : null;
      const weights = counted === null ? [] : weightsOf(group, counted, context);
      for (const [at, one] of group.entries()) {
        const weight = weights[at] ?? null;
        shares.set(one, { priority, weight, limits: limitsOf(one, counted, router, context) });
        reportShare(one, { counted, isAlone: all.length === 1, isOnlyOfModel: deployments.length === 1 }, context);
      }
    }
  }
  return shares;
}

/** The number in `order`; Infinity if the deployment has none, because LiteLLM then tries it last. */
function orderOf({ params }: Deployment): number {
  const order = Number(scalarText(valueAt(params, 'order')) ?? Number.NaN);
  return order >= 0 ? order : Number.POSITIVE_INFINITY;
}

/** The key by which LiteLLM weighs the deployments: the first of these that the first deployment states. */
const countedKey = ([first]: readonly Deployment[]): string | null =>
  ['weight', 'rpm', 'tpm'].find((key) => first && valueAt(first.params, key)) ?? null;

/** The highest weight that a policy allows. */
const WEIGHT_MAX = 1_000_000;

/** Returns the weight of each deployment. As in LiteLLM, a deployment that does not state the key gets 0. */
function weightsOf(group: readonly Deployment[], key: string, { outcomes }: ImportContext): number[] {
  const weights = group.map(({ params }) => numberOf(valueAt(params, key), outcomes, 'a number, not below 0') ?? 0);
  const highest = Math.max(...weights);
  const scale = highest > WEIGHT_MAX ? 10 ** Math.ceil(Math.log10(highest / WEIGHT_MAX)) : 1;
  return weights.map((weight) => Math.round((weight / scale) * 1e6) / 1e6);
}

const LIMITS = [
  ['rpm', 'requests_per_minute', 1_000_000_000],
  ['tpm', 'tokens_per_minute', 1_000_000_000],
  ['max_parallel_requests', 'concurrent_requests', 1_000_000],
] as const;

function limitsOf(
  { params, assigned }: Deployment,
  counted: string | null,
  { spread, parallelMax }: RouterSettings,
  { outcomes }: ImportContext,
): EndpointLimits {
  const limits: Record<keyof EndpointLimits, number | null> = {
    requests_per_minute: null,
    tokens_per_minute: null,
    concurrent_requests: LIMITS.some(([key]) => valueAt(params, key)) ? null : parallelMax,
  };
  for (const [key, limit, max] of LIMITS) {
    const node = valueAt(params, key);
    const value = numberOf(node, outcomes, 'a number, not below 0');
    if (!node || value === null) continue;
    const to = () => ['models', assigned.model, 'endpoints'];
    const weighs = key === counted ? 'the limit and the weight of the endpoint' : 'the limit of the endpoint';
    if (value < 1) outcomes.leftOut(node, 'a limit of an endpoint is at least 1');
    else if (key === 'max_parallel_requests' || spread !== 'weighted') outcomes.mapped(node, to, weighs);
    else outcomes.approximated(node, to, `${weighs}; LiteLLM's simple-shuffle goes beyond it`);
    limits[limit] = value < 1 ? null : Math.min(max, Math.trunc(value));
  }
  return limits;
}

interface ShareFacts {
  readonly counted: string | null;
  /** Whether no other deployment has the name. */
  readonly isAlone: boolean;
  readonly isOnlyOfModel: boolean;
}

/** Records the outcome of `order` and `weight`. */
function reportShare({ params, assigned }: Deployment, facts: ShareFacts, { outcomes }: ImportContext): void {
  const { counted, isAlone, isOnlyOfModel } = facts;
  const to = () => ['models', assigned.model, 'endpoints'];
  const [order, weight] = [valueAt(params, 'order'), valueAt(params, 'weight')];
  if (order && numberOf(order, outcomes, 'a number, not below 0') !== null) {
    if (isAlone) outcomes.leftOut(order, 'the only deployment of its name');
    else if (isOnlyOfModel)
      outcomes.approximated(
        order,
        to,
        'the selector chooses among the models with the lowest order, and the others follow as its fallbacks',
      );
    else outcomes.mapped(order, to, 'priority of the endpoint, counted from 0');
  }
  if (!weight || numberOf(weight, outcomes, 'a number, not below 0') === null) return;
  if (isAlone) outcomes.leftOut(weight, 'the only deployment of its name');
  else if (isOnlyOfModel)
    outcomes.leftOut(weight, 'a selector chooses among different models by their figures, not by weight');
  else if (counted === 'weight') outcomes.mapped(weight, to);
  else
    outcomes.leftOut(
      weight,
      'LiteLLM does not use it here: it is read only by simple-shuffle, if the first of several deployments with one order has it',
    );
}
