import { numberOf } from './amounts.ts';
import type { ProviderConnection } from './connection.ts';
import { asName, type ImportContext } from './context.ts';
import { type Deployment, shareOf } from './entries.ts';
import { TakenNames } from './names.ts';
import { bareName } from './services.ts';
import { valueAt } from './tree.ts';

/** A provider of the policy. */
export interface ImportedProvider {
  readonly name: string;
  readonly connection: ProviderConnection;
}

/** A model of the policy, with its deployments in the order in which they are tried. */
export interface ImportedModel {
  readonly id: string;
  readonly deployments: readonly Deployment[];
}

/** All models that have the same `model_name`. */
export interface ModelGroup {
  readonly name: string;
  readonly models: readonly ImportedModel[];
}

/** Assigns a provider name to each distinct connection. */
export function nameProviders(deployments: readonly Deployment[]): ImportedProvider[] {
  const byConnection = new Map<string, ImportedProvider>();
  const taken = new TakenNames();
  for (const { connection, assigned } of deployments) {
    const { names, comment, ...same } = connection;
    const key = JSON.stringify(same);
    const found = byConnection.getOrInsertComputed(key, () => ({ name: freeName(names, taken), connection }));
    assigned.provider = found.name;
  }
  return [...byConnection.values()];
}

function freeName(names: readonly string[], taken: TakenNames): string {
  const short = names.filter((name) => name !== '').map((name) => name.slice(0, 120));
  return taken.take(short, (names[0] || 'provider').slice(0, 110));
}

/** Groups the deployments of one name by model, in the order in which they are tried. */
export function groupByModel(deployments: readonly Deployment[], context: ImportContext): Deployment[][] {
  const first = deployments.find(({ bare }) => bare !== null)?.bare ?? null;
  const models = [...Map.groupBy(deployments, ({ bare }) => bare ?? first).values()];
  reportShares(deployments, models.length > 1, context);
  return models.map((ones) => sortEndpoints(ones));
}

const orderOf = ({ params }: Deployment): number => {
  const node = valueAt(params, 'order');
  const order = node?.kind === 'scalar' ? Number(node.text || Number.NaN) : Number.NaN;
  return Number.isFinite(order) ? order : Number.POSITIVE_INFINITY;
};

function sortEndpoints(deployments: readonly Deployment[]): Deployment[] {
  const share = (one: Deployment) => shareOf(one)?.share ?? 0;
  return [...deployments].sort((a, b) => compare(orderOf(a), orderOf(b)) || share(b) - share(a));
}

const compare = (a: number, b: number): number => (a === b ? 0 : a - b);

const LIMIT = 'Signalbox obeys a 429 of the provider and tries the next endpoint; `rate_limits` limits keys';

function reportShares(deployments: readonly Deployment[], areDifferent: boolean, { outcomes }: ImportContext): void {
  for (const one of deployments) {
    const { params, assigned } = one;
    const to = () => ['models', assigned.model, ...(areDifferent ? [] : ['endpoints'])];
    const counted = shareOf(one)?.key;
    for (const key of ['order', 'weight', 'rpm', 'tpm']) {
      const node = valueAt(params, key);
      if (!node || numberOf(node, outcomes, 'a number') === null) continue;
      if (deployments.length === 1) {
        outcomes.leftOut(node, ['order', 'weight'].includes(key) ? 'the only deployment of its name' : LIMIT);
      } else if (key === 'order') {
        if (areDifferent)
          outcomes.approximated(node, to, 'the selector’s strategy chooses among the models of this name');
        else outcomes.mapped(node, to, 'endpoints are tried in this order');
      } else if (key === counted) {
        outcomes.approximated(
          node,
          to,
          'the endpoint with the largest share comes first; the others only when it fails or asks for a pause',
        );
      } else outcomes.leftOut(node, LIMIT);
    }
  }
}

/**
 * Returns an ID for a model that cannot have the name of its group. The ID is the provider's name for the model, without the date if that
 * name is free, and with the provider if several models have that name.
 */
export function freeId(group: string, { upstream, assigned: { provider } }: Deployment, taken: TakenNames): string {
  const last = upstream
    .slice(upstream.lastIndexOf('/') + 1)
    .replace(/[^A-Za-z0-9._:@+-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 100);
  const dated = last === '' ? asName(group) : last;
  const plain = withoutDay(dated);
  const longer = [dated, `${provider}/${plain}`, `${provider}/${dated}`].filter((name) => name.length <= ID_MAX);
  return taken.take([plain, ...longer], plain);
}

/** The most characters of an ID. */
const ID_MAX = 120;

/** Removes the date, for example `claude-sonnet-4-5` from `claude-sonnet-4-5-20250929`, and keeps upper and lower case. */
const withoutDay = (name: string): string => name.slice(0, bareName(name).length) || name;
