import { t } from 'elysia';
import { KEY_STATES } from '../access/key-entry.ts';
import type { KeyQuery } from '../operate/key-pages.ts';
import { LABEL_FORM, labelIn, NOT_EMPTY, queryLimit, queryText, queryTexts, queryWord } from './query.ts';
import type { RouteServices } from './route-services.ts';
import { limitOf, refuseValue } from './terms.ts';

const LIMIT_MAX = 1_000;

/** The query of `GET /admin/keys`. */
export const KEYS_QUERY = t.Object({
  state: queryWord(KEY_STATES, `One of ${KEY_STATES.join(', ')}.`),
  name: queryText('Only keys of this name.'),
  search: queryText('A part of the name or the ID, in any case.'),
  team: queryText('Only keys of the team with this ID or name.'),
  user: queryText('Only keys of the user with this ID.'),
  parent: queryText('Only keys that the key with this ID has made.'),
  has_models: queryWord(
    ['true', 'false'],
    '`true`: only keys with a list of models of their own; `false`: only keys without one.',
  ),
  label: queryTexts('A label of the key, as `name=value`. It may be repeated; a key must have all.', LABEL_FORM),
  after: queryText('The ID of the last key of the page before.', NOT_EMPTY),
  limit: queryLimit(LIMIT_MAX, LIMIT_MAX, 'How many at most; all unless given. A page also ends at 1 MiB.'),
});

/** @throws SignalboxError */
export function keyQueryOf(url: string, teamIdOf: RouteServices['teamIdOf']): KeyQuery {
  const query = new URL(url).searchParams;
  const [state, limit, team] = [query.get('state'), query.get('limit'), query.get('team')];
  return {
    state: state === null ? null : stateOf(state),
    search: query.get('search'),
    ...{ name: query.get('name'), user: query.get('user'), parent: query.get('parent') },
    team: team && teamIdOf(team),
    hasModels: flagOf(query.get('has_models')),
    labels: Object.fromEntries(query.getAll('label').map(labelIn)),
    after: query.get('after'),
    limit: limit === null ? null : limitOf(limit, LIMIT_MAX),
  };
}

const stateOf = (text: string) =>
  KEY_STATES.find((state) => state === text) ??
  refuseValue('state', `\`state\` must be one of ${KEY_STATES.join(', ')}.`);

function flagOf(text: string | null): boolean | null {
  if (text === null) return null;
  if (text === 'true') return true;
  if (text === 'false') return false;
  return refuseValue('has_models', '`has_models` must be `true` or `false`.');
}
