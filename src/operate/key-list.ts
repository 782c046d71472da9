import { type KeyState, keyStateOf } from '../access/key-entry.ts';
import type { Keys } from '../access/keys.ts';
import { KeyTermsError } from '../access/terms.ts';
import { addressOf } from '../core/holder-address.ts';
import type { KeyInfo } from '../store/keys.ts';
import type { Principal } from './principal.ts';
import { isWithin } from './reach.ts';
import { checkAction } from './roles.ts';

export const KEY_STATES = ['valid', 'suspended', 'expired', 'revoked'] as const satisfies readonly KeyState[];
/** The most keys of a page. */
export const KEY_LIMIT_MAX = 1_000;

/** Which keys to list. A key must match all that are stated. */
export interface KeyFilters {
  /** One of `KEY_STATES`. */
  readonly state?: string | undefined;
  /** A part of the name in any case, or of the ID. */
  readonly search?: string | undefined;
  /** As `name=value`. */
  readonly label?: readonly string[] | undefined;
  /** IDs. */
  readonly team?: string | undefined;
  readonly user?: string | undefined;
  readonly parent?: string | undefined;
  /** An address. */
  readonly wallet?: string | undefined;
  /** The ID of the last key of the page before. */
  readonly after?: string | undefined;
  /** Absent: all keys. */
  readonly limit?: number | undefined;
}

export interface KeyPage {
  readonly keys: readonly KeyInfo[];
  /** Whether more match. */
  readonly hasMore: boolean;
}

/**
 * Lists the keys that a principal may see, revoked ones too, oldest first.
 * @param now ms since 1970
 * @throws KeyTermsError for a filter that cannot be. Rejects with StoreError.
 */
export async function listKeys(
  { caller }: Principal,
  keys: Pick<Keys, 'list'>,
  filters: KeyFilters,
  now: number,
): Promise<KeyPage> {
  const reach = checkAction(caller, 'keys.read');
  const matches = matcherOf(filters, now);
  const seen = (await keys.list()).filter((info) => isWithin(reach, caller, info));
  const from = filters.after === undefined ? 0 : placeAfter(seen, filters.after);
  const all = seen.slice(from).filter(matches);
  const { limit = all.length } = filters;
  return { keys: all.slice(0, limit), hasMore: all.length > limit };
}

function placeAfter(keys: readonly KeyInfo[], id: string): number {
  const at = keys.findIndex((info) => info.id === id);
  return at >= 0 ? at + 1 : refuse('after', 'is the ID of the last key of the page before');
}

function matcherOf(filters: KeyFilters, now: number): (info: KeyInfo) => boolean {
  const { state, search, label = [], team, user, parent, wallet } = filters;
  if (state !== undefined && !KEY_STATES.some((one) => one === state))
    refuse('state', `is one of ${KEY_STATES.join(', ')}`);
  const holder = wallet === undefined ? null : (addressOf(wallet) ?? refuse('wallet', 'is the address of a wallet'));
  const labels = label.map(labelOf);
  const part = search?.toLowerCase() ?? '';
  return (info) =>
    (state === undefined || keyStateOf(info.inForce ?? info, now) === state) &&
    (info.name.toLowerCase().includes(part) || info.id.includes(part)) &&
    labels.every(([name, value]) => info.labels[name] === value) &&
    (team === undefined || info.team === team) &&
    (user === undefined || info.user === user) &&
    (parent === undefined || info.parent === parent) &&
    (holder === null || info.holder === holder);
}

function labelOf(text: string): readonly [name: string, value: string] {
  const at = text.indexOf('=');
  return at >= 1 ? [text.slice(0, at), text.slice(at + 1)] : refuse('label', 'is written name=value');
}

function refuse(filter: keyof KeyFilters, form: string): never {
  throw new KeyTermsError(filter, `\`${filter}\` ${form}.`);
}
