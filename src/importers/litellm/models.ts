import { numberOf } from './amounts.ts';
import type { Connection } from './connection.ts';
import { asName, type Context } from './context.ts';
import { type Deployment, shareOf } from './entries.ts';
import { Names } from './names.ts';
import { bareName } from './services.ts';
import { valueAt } from './tree.ts';

/** A provider of the policy. */
export interface ProviderDraft {
  readonly name: string;
  readonly connection: Connection;
}

/** A model of the policy, with its deployments in the order in which they are asked. */
export interface ModelDraft {
  readonly id: string;
  readonly deployments: readonly Deployment[];
}

/** All models behind a name. */
export interface Group {
  readonly name: string;
  readonly models: readonly ModelDraft[];
}

/** Gives a name to everything that is reached in another way, and tells the deployments. */
export function nameProviders(deployments: readonly Deployment[]): ProviderDraft[] {
  const byConnection = new Map<string, ProviderDraft>();
  const taken = new Names();
  for (const { connection, place } of deployments) {
    const { names, comment, ...same } = connection;
    const key = JSON.stringify(same);
    const found = byConnection.get(key) ?? { name: freeName(names, taken), connection };
    byConnection.set(key, found);
    taken.add(found.name);
    place.provider = found.name;
  }
  return [...byConnection.values()];
}

function freeName(names: readonly string[], taken: Names): string {
  const free = names.find((name) => name !== '' && !taken.has(name));
  if (free !== undefined) return free.slice(0, 120);
  return taken.numbered((names[0] || 'provider').slice(0, 110));
}

/** Deployments of one name that are one model, in the order in which they are asked; the models in that of their first. */
export function sameModels(deployments: readonly Deployment[], context: Context): Deployment[][] {
  const first = deployments.find(({ bare }) => bare !== null)?.bare ?? null;
  const models = [...Map.groupBy(deployments, ({ bare }) => bare ?? first).values()];
  tellShares(deployments, models.length > 1, context);
  return models.map((ones) => inOrder(ones));
}

const orderOf = ({ params }: Deployment): number => {
  const node = valueAt(params, 'order');
  const order = node?.kind === 'scalar' ? Number(node.text || Number.NaN) : Number.NaN;
  return Number.isFinite(order) ? order : Number.POSITIVE_INFINITY;
};

function inOrder(deployments: readonly Deployment[]): Deployment[] {
  const share = (one: Deployment) => shareOf(one)?.share ?? 0;
  return [...deployments].sort((a, b) => compare(orderOf(a), orderOf(b)) || share(b) - share(a));
}

const compare = (a: number, b: number): number => (a === b ? 0 : a - b);

function tellShares(deployments: readonly Deployment[], areDifferent: boolean, { account }: Context): void {
  for (const one of deployments) {
    const { params, place } = one;
    const to = () => ['models', place.model, ...(areDifferent ? [] : ['endpoints'])];
    const counted = shareOf(one)?.key;
    for (const key of ['order', 'weight', 'rpm', 'tpm']) {
      const node = valueAt(params, key);
      if (!node || numberOf(node, account, 'a number') === null) continue;
      if (deployments.length === 1) {
        account.leftOut(node, ALONE[key] ?? LIMIT);
      } else if (key === 'order') {
        if (areDifferent)
          account.approximated(node, to, 'models of one name are chosen from by the selector’s strategy');
        else account.mapped(node, to, 'endpoints are asked in this order');
      } else if (key === counted) {
        account.approximated(
          node,
          to,
          'the one with the greater share is asked first; the others when it fails or wants a pause, not beside it',
        );
      } else account.leftOut(node, LIMIT);
    }
  }
}

const LIMIT =
  'what a provider allows it tells itself: its 429 is obeyed, and the next endpoint asked; `rate_limits` limit keys';
const ALONE: Readonly<Record<string, string>> = {
  order: 'the only deployment of its name',
  weight: 'the only deployment of its name',
};

/** An ID for a model that cannot have the name of its group. */
export function freeId(group: string, { upstream }: Deployment, taken: Names): string {
  const last = upstream
    .slice(upstream.lastIndexOf('/') + 1)
    .replace(/[^A-Za-z0-9._:@+-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '');
  const plain = last === '' ? asName(group) : withoutDay(last).slice(0, 100);
  const candidates = [plain, `${group}/${plain}`.slice(0, 120)];
  const id = candidates.find((one) => !taken.has(one)) ?? taken.numbered(plain);
  taken.add(id);
  return id;
}

/** `claude-sonnet-4-5` for `claude-sonnet-4-5-20250929`, in the case in which it is written. */
const withoutDay = (name: string): string => name.slice(0, bareName(name).length) || name;
