import { join } from 'node:path';
import type { Caller, Scope } from '../../src/core/caller.ts';
import { NO_TERMS } from '../../src/core/people.ts';
import type { Role } from '../../src/core/role.ts';
import { openStore } from '../../src/store/open.ts';
import { aTeam, aUser } from '../store/suites/people.ts';
import { waitFor } from '../support/answers.ts';
import type { Signalbox } from '../support/signalbox.ts';

const NO_MONEY = { models: null, limits: null, budgets: [], memberDefaults: NO_TERMS };

/** Puts the teams and users behind those people, under their IDs, and waits until the server knows them. */
export async function seatPeople(box: Signalbox): Promise<void> {
  const store = await openStore(join(box.data, 'signalbox.db'), { mode: 'beside', rooms: ['access', 'people'] });
  const { people } = store;
  const users = Object.values(PEOPLE).map(({ keyId, team = null }) => aUser(keyId.replace('user_', ''), { team }));
  await store.commit([
    ...['red', 'blue'].map((name) => people.putTeam(aTeam(name, NO_MONEY), null)),
    ...users.map((user) => people.putUser(user, null)),
  ]);
  await store.close();
  await waitFor(async () => (await box.get('/admin/users/user_newcomer')).status === 200);
}

/** People who stand before the server as a sign-in would make them: by the header `authorization`. */

function personOf(role: Role, name: string = role, more: Partial<Caller> = {}): Caller {
  const id = `user_${name}`;
  const terms = { scopes: new Set<Scope>(), labels: {}, models: null, limits: null, budgets: [] } as const;
  return { role, keyId: id, user: id, team: 'team_red', ...terms, ...more };
}

/** All but the stranger and the newcomer are of the team `red`. */
export const PEOPLE: Readonly<Record<string, Caller>> = Object.fromEntries(
  [
    ...(['owner', 'admin', 'auditor', 'finance', 'lead'] as const).map((role) => personOf(role)),
    personOf('member', 'member', { labels: { desk: 'seven' } }),
    personOf('member', 'limited', { models: new Set(['toy']) }),
    personOf('lead', 'stranger', { team: 'team_blue' }),
    { ...personOf('lead', 'newcomer'), team: undefined },
  ].map(({ team, ...caller }) => [
    `Bearer ${caller.keyId.replace('user_', 'login-')}`,
    team ? { ...caller, team } : caller,
  ]),
);

export const PEOPLE_POLICY = `version: 1
providers: { sim: { adapter: simulated } }
models:
  toy:
    provider: sim
    price: { input: 1000, output: 4000, as_of: 2026-11-01, basis: own }
    context_window: 32768
    max_output: 256
    latency: { ttft_ms: 1, output_tokens_per_second: 100000, basis: guessed }
    quality: { default: 0.5, basis: guessed }
gateway: { failed_auth_per_minute: 1000000, keyless_per_minute: 1000000, reports_per_minute: 1000000 }
records: { content: {} }
`;
