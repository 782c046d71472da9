import { State } from '../../design/tag.tsx';
import { hrefWith } from '../../shell/router.ts';
import { KEY_STATE_WORDS, KEY_TONES, type KeyAnswer, keyName, type UserAnswer } from './words.ts';

/** The address that opens a key next to the list, with the filters of the page. */
export const keyHref = (id: string): string => hrefWith({ edit: null }, `/people/keys/${id}`);

export const KeyState = ({ state }: { readonly state: KeyAnswer['state'] }) => (
  <State tone={KEY_TONES[state]}>{KEY_STATE_WORDS[state]}</State>
);

/** The name of a key, and whether another key created it. */
export const KeyTitle = ({ of }: { readonly of: KeyAnswer }) => (
  <span class="table-name" title={`${keyName(of)} (${of.id})`}>
    {of.parent !== null && <span aria-hidden="true">↳ </span>}
    {keyName(of)}
    {of.parent !== null && <span class="unseen">, a child key</span>}
  </span>
);

type NameOf = (id: string | null) => string;

export const ownerText = ({ team, user }: Pick<KeyAnswer, 'team' | 'user'>, teamOf: NameOf, userOf: NameOf): string =>
  [userOf(user), teamOf(team)].filter(Boolean).join(', ');

export const UserState = ({ state }: { readonly state: UserAnswer['state'] }) =>
  state === 'active' ? <State tone="good">Active</State> : <State tone="warn">Suspended</State>;
