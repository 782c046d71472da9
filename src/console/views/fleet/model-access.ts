import type { ReadOf } from '../../api/reads.ts';
import { useResource } from '../../api/resource.ts';
import { reachOfViewer } from '../../shell/session.ts';

export type ModelLine = ReadOf<'/admin/models'>['data'][number];

/** Whether a line stands for all models of a wildcard of the policy. */
export const isWildcard = ({ id, pattern }: Pick<ModelLine, 'id' | 'pattern'>): boolean => pattern === id;

/** Who has a list of models: a key, or a team or a member whose keys it binds. */
export interface ModelHolder {
  readonly kind: 'team' | 'member' | 'key';
  readonly id: string;
  readonly name: string;
  readonly models: readonly string[];
}

/** The lists of models that the viewer may see. */
export interface ModelHolders {
  readonly holders: readonly ModelHolder[];
  /** Whether there are more lists than were read. */
  readonly hasMore: boolean;
}

/** Lists that are read at most of each kind; the panel of a model says where others are. */
const LISTS_MAX = 200;

/** Everyone with a list of models of their own; null while they are read, and for a role that sees no keys. */
export function useModelHolders(): ModelHolders | null {
  const isWanted = reachOfViewer('keys.read') !== null && reachOfViewer('people.read') !== null;
  const teams = useResource('/admin/teams', { limit: 1_000 }, { isWanted });
  const users = useResource('/admin/users', { limit: 1_000, team: null }, { isWanted });
  const keys = useResource('/admin/keys', { has_models: 'true', state: 'valid', limit: LISTS_MAX }, { isWanted });
  if (!teams.data || !users.data || !keys.data) return null;
  const holdersOf = (kind: ModelHolder['kind'], of: readonly ListOwner[]): readonly ModelHolder[] =>
    of.flatMap(({ id, name, models }) => (models === null ? [] : [{ kind, id, name: name || id, models }]));
  return {
    holders: [
      ...holdersOf('team', teams.data.data),
      ...holdersOf('member', users.data.data),
      ...holdersOf('key', keys.data.data),
    ],
    hasMore: [teams, users, keys].some(({ data }) => data?.has_more),
  };
}

interface ListOwner {
  readonly id: string;
  readonly name: string;
  readonly models: readonly string[] | null;
}

/** Whether a list names the model, or the wildcard that it is of. */
const isListed = ({ models }: ModelHolder, { id, pattern }: Pick<ModelLine, 'id' | 'pattern'>): boolean =>
  models.includes(id) || (pattern !== null && models.includes(pattern));

/** The holders whose lists name a model, and those whose lists leave it out. */
export const accessOf = (model: ModelLine, { holders }: ModelHolders) => ({
  listed: holders.filter((holder) => isListed(holder, model)),
  leftOut: holders.filter((holder) => !isListed(holder, model)),
});

const NAMES_SHOWN = 2;

/** `Every key`, `Every key, but not team search and 2 more`. */
export function accessText(model: ModelLine, known: ModelHolders): string {
  const reach = reachOfViewer('keys.read') ?? 'own';
  const all = { all: 'Every key', team: 'Every key of your team', own: 'Each of your keys' }[reach];
  const { leftOut } = accessOf(model, known);
  if (leftOut.length === 0) return all;
  const named = leftOut.slice(0, NAMES_SHOWN).map(({ kind, name }) => `${kind} ${name}`);
  const more = leftOut.length - named.length;
  return `${all}, but not ${more > 0 ? `${named.join(', ')} and ${more} more` : named.join(' and ')}`;
}
