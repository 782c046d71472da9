import type { UserRole } from '../../../core/people/people.ts';
import type { ReadOf } from '../../api/reads.ts';
import { useResource } from '../../api/resource.ts';
import { figure } from '../../design/format.ts';
import type { Tone } from '../../design/tag.tsx';
import type { Option } from '../../kit/draft.ts';

/** The fields that a list of keys and a key on its own have. */
export type KeyAnswer = Omit<ReadOf<'/admin/keys'>['data'][number], 'team_name' | 'user_name'>;
export type TeamAnswer = ReadOf<'/admin/teams'>['data'][number];
export type UserAnswer = ReadOf<'/admin/users'>['data'][number];
export type KeyMoney = ReadOf<`/admin/keys/${string}`>;
export type TeamMoney = ReadOf<`/admin/teams/${string}`>;
export type UserMoney = ReadOf<`/admin/users/${string}`>;

export const KEY_STATE_WORDS: Readonly<Record<KeyAnswer['state'], string>> = {
  valid: 'Valid',
  suspended: 'Suspended',
  expired: 'Expired',
  revoked: 'Revoked',
};
export const KEY_TONES: Readonly<Record<KeyAnswer['state'], Tone>> = {
  valid: 'good',
  suspended: 'warn',
  expired: 'quiet',
  revoked: 'bad',
};

export const ROLE_WORDS: Readonly<Record<UserRole, string>> = {
  owner: 'Owner',
  admin: 'Admin',
  finance: 'Finance',
  auditor: 'Auditor',
  lead: 'Lead',
  member: 'Member',
};

export const ORIGINS: Readonly<Record<TeamAnswer['origin'], string>> = {
  api: 'Created here',
  policy: 'In the policy',
  former: 'No longer in the policy',
};

/** The name of a key, or its ID if it has no name. */
export const keyName = ({ name, id }: Pick<KeyAnswer, 'name' | 'id'>): string => name || id;
export const userName = ({ name, email, id }: { name: string; email: string | null; id: string }): string =>
  name || email || id;

/** Writes rate limits: "60 requests a minute, 4 streams at once"; null if there are none. */
export function limitsText(limits: KeyAnswer['limits'] | null): string | null {
  if (limits === null) return null;
  const { requests_per_minute: requests, tokens_per_minute: tokens, concurrent_streams: streams } = limits;
  const parts = [
    requests !== null && `${figure(requests).short} ${requests === 1 ? 'request' : 'requests'} a minute`,
    tokens !== null && `${figure(tokens).short} ${tokens === 1 ? 'token' : 'tokens'} a minute`,
    streams !== null && `${figure(streams).short} ${streams === 1 ? 'stream' : 'streams'} at once`,
  ].filter((part) => part !== false);
  return parts.length === 0 ? null : parts.join(', ');
}

export const modelsText = (models: readonly string[] | null): string | null => models?.join(', ') ?? null;

/** The first 1,000 teams that the viewer may see. */
export const useTeams = () => useResource('/admin/teams', { limit: 1_000 });
/** The first 1,000 people that the viewer may see. */
export const useUsers = (team: string | null = null) => useResource('/admin/users', { limit: 1_000, team });

export const teamOptions = (teams: readonly TeamAnswer[]): readonly Option[] =>
  teams.map(({ id, name }) => ({ value: id, label: name }));
export const userOptions = (users: readonly UserAnswer[]): readonly Option[] =>
  users.map((user) => ({ value: user.id, label: userName(user) }));

type NameList = { readonly data: readonly { readonly id: string; readonly name: string }[] };

/** Finds names by ID. An unknown ID is returned unchanged. */
export function namesIn(list: NameList | null): (id: string | null) => string {
  const names = new Map(list?.data.map(({ id, name }) => [id, name]));
  return (id) => (id === null ? '' : names.get(id) || id);
}
