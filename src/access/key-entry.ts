import { type Caller, walletCaller } from '../core/caller.ts';
import { type KeyInfo, type KeyRow, keyInfo } from './key-table.ts';

/** The reason why a key is denied. For logs only: callers learn no more than that the key is not valid. */
export type DenialReason = 'missing' | 'malformed' | 'unknown' | 'expired' | 'revoked' | 'rotated';

export type Authentication =
  | { readonly caller: Caller; readonly reason: null }
  | { readonly caller: null; readonly reason: DenialReason };

export interface KeyEntry {
  readonly row: KeyRow;
  readonly info: KeyInfo;
  readonly hash: Uint8Array;
  /** Of the secret before the last rotation, which works until `previousUntil` (ms since 1970). */
  readonly previousHash: Uint8Array;
  readonly previousUntil: number;
  readonly authentication: Authentication & { readonly caller: Caller };
  /** The last use, and the last use written to the store; ms since 1970, 0 for never. */
  usedAt: number;
  writtenAt: number;
}

/** One authentication for each wallet: all its keys are one caller. */
export type WalletGrants = Map<string, KeyEntry['authentication']>;

/** Compared where there is no secret, to take the same time. No key has this hash. */
export const NO_HASH = new Uint8Array(32);

/**
 * Makes the entry of a row. An unchanged key keeps its entry, and a rotated one its caller, so that counts by caller go
 * on. Adds the row's wallet to `wallets`.
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

/** The columns that a caller is made from. */
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

/** Adds the last use that this process knows of. */
export const infoOf = ({ info, usedAt }: KeyEntry): KeyInfo => ({ ...info, lastUsedAt: usedAt === 0 ? null : usedAt });

export type KeyState = 'valid' | 'expired' | 'revoked';

export function keyStateOf({ revokedAt, expiresAt }: Pick<KeyInfo, 'revokedAt' | 'expiresAt'>, now: number): KeyState {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && expiresAt <= now ? 'expired' : 'valid';
}
