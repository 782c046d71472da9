import type { Caller, CallerLevel, HolderKind } from '../../people/caller.ts';
import { emptyFacts, type FactsOf, type FactTable, factReader, NO_TEXTS, textMap } from './define.ts';

type KeySource = Pick<Caller, 'keyId' | 'labels'>;

/** The facts of a key that conditions can use. */
export const KEY_FACTS = {
  id: { type: 'string', means: 'ID of the key.', empty: '', read: ({ keyId }) => keyId },
  labels: {
    type: 'map<string, string>',
    means: 'Labels of the key; a missing label reads as the empty text.',
    empty: NO_TEXTS,
    read: ({ labels }) => textMap(labels),
  },
} as const satisfies FactTable<KeySource>;

/** The facts of the team of a key. */
export const TEAM_FACTS = {
  id: {
    type: 'string',
    means: 'ID of the team that the key belongs to; empty for none.',
    empty: '',
    read: ({ team = '' }) => team,
  },
  name: {
    type: 'string',
    means: 'Name of the team; empty for none.',
    empty: '',
    read: (caller) => levelAt('team', caller)?.name ?? '',
  },
} as const satisfies FactTable<Caller>;

/** The facts of the user of a key. */
export const USER_FACTS = {
  id: {
    type: 'string',
    means: 'ID of the user that the key belongs to; empty for none.',
    empty: '',
    read: ({ user = '' }) => user,
  },
  name: {
    type: 'string',
    means: 'Name of the user; empty for none.',
    empty: '',
    read: (caller) => levelAt('user', caller)?.name ?? '',
  },
  role: {
    type: 'string',
    means: 'Role of the user, such as `member` or `lead`.',
    empty: '',
    read: (caller) => ((caller.user ?? '') === '' ? '' : (caller.role ?? levelAt('user', caller)?.role ?? '')),
  },
} as const satisfies FactTable<Caller>;

const levelAt = (kind: HolderKind, { levels }: Caller): CallerLevel | undefined =>
  levels?.find((level) => level.kind === kind);

/** The variables of conditions that are about a caller: its key, and the team and the user of the key. */
export interface CallerFacts {
  readonly key: FactsOf<typeof KEY_FACTS>;
  readonly team: FactsOf<typeof TEAM_FACTS>;
  readonly user: FactsOf<typeof USER_FACTS>;
}

/** The facts of a key without labels, team and user. All callers without a team and a user share the facts of no team and no user. */
export const NO_CALLER: CallerFacts = {
  key: emptyFacts(KEY_FACTS),
  team: emptyFacts(TEAM_FACTS),
  user: emptyFacts(USER_FACTS),
};

/** Returns the facts of a key for conditions. */
export const readKey = factReader<KeySource, typeof KEY_FACTS>(KEY_FACTS);
const readTeam = factReader<Caller, typeof TEAM_FACTS>(TEAM_FACTS);
const readUser = factReader<Caller, typeof USER_FACTS>(USER_FACTS);

/** Returns the facts of a caller for conditions. */
export const readCaller = (caller: Caller): CallerFacts => {
  const hasGroups = (caller.team ?? '') !== '' || (caller.user ?? '') !== '';
  const key = readKey(caller);
  return hasGroups ? { key, team: readTeam(caller), user: readUser(caller) } : { ...NO_CALLER, key };
};
