import type { Caller, Scope } from '../../src/core/caller.ts';
import type { Role } from '../../src/core/role.ts';

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
