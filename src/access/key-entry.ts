import { type Caller, walletCaller } from '../core/caller.ts';
import { type KeyInfo, type KeyRow, keyInfo } from './tables.ts';

/** Why a request is not let in. For the log: callers are told only that the key is not valid. */
export type DenialReason = 'missing' | 'malformed' | 'unknown' | 'expired' | 'revoked' | 'rotated';

export type Authentication =
  | { readonly caller: Caller; readonly reason: null }
  | { readonly caller: null; readonly reason: DenialReason };

/** A key as it is held in memory. */
export interface KeyEntry {
  readonly row: KeyRow;
  readonly info: KeyInfo;
  readonly hash: Uint8Array;
  /** Of the secret before the last rotation, which works until `previousUntil` (ms since 1970). */
  readonly previousHash: Uint8Array;
  readonly previousUntil: number;
  readonly authentication: Authentication & { readonly caller: Caller };
  /** When it was last used, and what of that is written already; ms since 1970, 0 for never. */
  usedAt: number;
  writtenAt: number;
}

/** What lets in the keys of each wallet: they all are one caller. */
export type WalletGrants = Map<string, KeyEntry['authentication']>;

/** Compared with where there is no secret, so that this takes as long. No key has this hash. */
export const NO_HASH = new Uint8Array(32);

/**
 * What a row says. A key that is as it was stays the same object, and one that was only rotated keeps its caller:
 * whoever counts something for a caller goes on counting. `wallets` gets what it has not of the row's wallet.
 */
export function keyEntryOf(row: KeyRow, before: KeyEntry | undefined, wallets: WalletGrants): KeyEntry {
  const lastUsedAt = row.lastUsedAt ?? 0;
  if (before && isSame(row, before.row)) {
    before.usedAt = Math.max(before.usedAt, lastUsedAt);
    before.writtenAt = Math.max(before.writtenAt, lastUsedAt);
    return before;
  }
  const info = keyInfo(row);
  return {
    row,
    info,
    hash: row.hash,
    previousHash: row.previousHash ?? NO_HASH,
    previousUntil: row.overlapEndsAt ?? 0,
    authentication:
      before && TERMS.every((name) => row[name] === before.row[name])
        ? before.authentication
        : authenticationOf(info, wallets),
    usedAt: Math.max(before?.usedAt ?? 0, lastUsedAt),
    writtenAt: lastUsedAt,
  };
}

function authenticationOf(info: KeyInfo, wallets: WalletGrants): KeyEntry['authentication'] {
  const { wallet } = info;
  if (wallet === null) return { caller: callerOf(info), reason: null };
  const authentication = wallets.get(wallet) ?? { caller: walletCaller(wallet), reason: null };
  wallets.set(wallet, authentication);
  return authentication;
}

function callerOf(info: KeyInfo): Caller {
  return {
    keyId: info.id,
    scopes: new Set(info.scopes),
    labels: info.labels,
    models: info.models && new Set(info.models),
    limits: info.limits,
    budgets: info.budgets,
    ...(info.wallets && { wallets: new Set(info.wallets) }),
  };
}

/** What a caller is made from. */
const TERMS = ['scopes', 'labels', 'models', 'limits', 'budgets', 'wallets', 'wallet'] as const;
const REST = ['name', 'createdAt', 'expiresAt', 'revokedAt', 'rotatedAt', 'overlapEndsAt'] as const;

function isSame(row: KeyRow, other: KeyRow): boolean {
  return (
    TERMS.every((name) => row[name] === other[name]) &&
    REST.every((name) => row[name] === other[name]) &&
    isSameHash(row.hash, other.hash) &&
    isSameHash(row.previousHash, other.previousHash)
  );
}

function isSameHash(one: Uint8Array | null, other: Uint8Array | null): boolean {
  if (one === null || other === null) return one === other;
  return one.length === other.length && one.every((byte, i) => byte === other[i]);
}

/** What is known of a key, with its last use as far as this process knows it. */
export const infoOf = ({ info, usedAt }: KeyEntry): KeyInfo => ({ ...info, lastUsedAt: usedAt === 0 ? null : usedAt });

export type KeyState = 'valid' | 'expired' | 'revoked';

export function keyStateOf({ revokedAt, expiresAt }: Pick<KeyInfo, 'revokedAt' | 'expiresAt'>, now: number): KeyState {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && expiresAt <= now ? 'expired' : 'valid';
}
