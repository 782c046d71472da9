import { KEY_COMMANDS, type KeyServices } from '../../keys.ts';
import type { OperationHost } from '../../kit/operation.ts';
import type { TrailReader } from '../../trail.ts';
import { storedKeyFunds, storedModelWarnings, storedUsdPerCredit } from '../../use-cases/key-funds.ts';
import { Places, UNBOUNDED } from '../../use-cases/places.ts';
import { groupOf } from '../arguments.ts';
import { commandsOf } from '../operations.ts';
import { type KeysCommand, requireLedger } from './command.ts';

/** Runs `signalbox keys …` on the database. Returns the text to print. Throws UsageError. */
export const runKeys = groupOf('keys', commandsOf(KEY_COMMANDS, servicesIn));

function servicesIn({ keys, people, store, file }: KeysCommand): KeyServices & TrailReader & OperationHost {
  return {
    keys,
    people,
    store,
    checkLedger: () => requireLedger(store),
    usdPerCredit: () => storedUsdPerCredit(file),
    modelWarnings: (list) => storedModelWarnings(file, list),
    searches: new Places(UNBOUNDED),
    fundsOf: (info, now) => storedKeyFunds(file, info, now),
    // The command refreshes nothing, because a running server notices the grant in the database.
    refresh: async () => {},
  };
}
