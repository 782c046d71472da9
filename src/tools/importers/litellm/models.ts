import type { ProviderConnection } from './connection.ts';
import { asName } from './context.ts';
import type { Deployment } from './entries.ts';
import { TakenNames } from './names.ts';
import { bareName } from './services.ts';
import type { EndpointShare } from './shares.ts';

/** A provider of the policy. */
export interface ImportedProvider {
  readonly name: string;
  readonly connection: ProviderConnection;
}

/** A model of the policy, with its deployments in the order of their priority. */
export interface ImportedModel {
  readonly id: string;
  readonly deployments: readonly Deployment[];
  /** The share and the limits of each deployment, in the same order. */
  readonly shares: readonly EndpointShare[];
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

/** Groups the deployments of one name by model. */
export function groupByModel(deployments: readonly Deployment[]): Deployment[][] {
  const first = deployments.find(({ bare }) => bare !== null)?.bare ?? null;
  return [...Map.groupBy(deployments, ({ bare }) => bare ?? first).values()];
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
