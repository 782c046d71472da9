import { KEY_OPERATIONS, type KeyServices } from '../../admin/keys.ts';
import type { OperationHost } from '../../admin/kit/operation.ts';
import { addressOf } from '../../core/holder-address.ts';
import { storedKeyFunds, storedUsdPerCredit } from '../../operate/key-funds.ts';
import { Places } from '../../operate/places.ts';
import { groupOf, parseFlags, SWITCH, TEXT } from '../arguments.ts';
import { commandsOf } from '../operations.ts';
import { listed } from '../trail.ts';
import { idOf, type KeysCommand, requireLedger } from './command.ts';

/** `signalbox keys …`. Returns what to print. Throws UsageError. */
export const runKeys = groupOf('keys', { ...commandsOf(KEY_OPERATIONS, servicesIn), log });

const UNBOUNDED = { own: Number.MAX_SAFE_INTEGER, all: Number.MAX_SAFE_INTEGER, ownTaken: '', allTaken: '' };

function servicesIn({ keys, people, store, file }: KeysCommand): KeyServices & OperationHost {
  return {
    ...{ keys, people, store },
    checkLedger: () => requireLedger(store),
    usdPerCredit: () => storedUsdPerCredit(file),
    searches: new Places(UNBOUNDED),
    fundsOf: (info, now) => storedKeyFunds(file, info, now),
    // A running server reads what was granted by itself.
    refresh: async () => {},
  };
}

/** `keys log [--key ID] [--limit 100] [--before ID] [--json]`: changes of keys, newest first. A wallet is named by its address. */
export async function log(args: readonly string[], { store }: KeysCommand): Promise<string> {
  const { key, ...flags } = parseFlags(args, { key: TEXT, limit: TEXT, before: TEXT, json: SWITCH });
  const keyId = key === undefined ? null : (addressOf(key) ?? idOf([key], 'log --key'));
  return listed(store, keyId, flags);
}
