import { keyStateOf } from '../../access/key-entry.ts';
import type { Keys } from '../../access/keys.ts';
import type { People } from '../../access/people.ts';
import { commandName } from '../../core/command-name.ts';
import { UsageError } from '../../core/usage-error.ts';
import type { KeyInfo } from '../../store/keys.ts';
import type { Repositories } from '../../store/repositories.ts';
import { onlyOne } from '../arguments.ts';
import { day } from '../text.ts';

/** The inputs of every command on keys. */
export interface KeysCommand {
  /** The path of the database. */
  readonly file: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly keys: Keys;
  readonly people: People;
  readonly store: Pick<Repositories, 'ledger' | 'trail'>;
}

/** Throws UsageError where no server of this version has used the database. */
export async function requireLedger({ ledger }: Pick<Repositories, 'ledger'>): Promise<void> {
  if (await ledger.exists()) return;
  throw new UsageError('The database has no ledger of this version yet. Start the server once to create it.');
}

/** The one ID that a command takes. A whole key in its place is not repeated: errors end in logs and terminals. */
export function idOf(positionals: readonly string[], command: string): string {
  const usage = `keys ${command} takes the ID of one key. Run ${commandName()} keys list to see the IDs.`;
  const id = onlyOne(positionals, usage);
  if (!/^[0-9a-z]{1,32}$/.test(id)) {
    throw new UsageError('Give only the ID of the key: the part between sb_live_ and the next underscore.');
  }
  return id;
}

export const noSuchKey = (id: string) => new UsageError(`There is no valid key with the ID ${id}.`);

export function stateText(info: KeyInfo, now: number): string {
  const { inForce = info } = info;
  const { revokedAt, expiresAt, suspendedAt } = inForce;
  if (revokedAt !== null) return `revoked ${day(revokedAt)}`;
  if (suspendedAt !== null && keyStateOf(inForce, now) === 'suspended') return `suspended ${day(suspendedAt)}`;
  if (expiresAt === null) return 'valid';
  return `${keyStateOf(inForce, now) === 'expired' ? 'expired' : 'valid until'} ${day(expiresAt)}`;
}

/** The team and the user of a key, as they are called now; `-` for none. */
export const memberTexts = (
  people: Pick<People, 'team' | 'user'>,
  { team, user }: Pick<KeyInfo, 'team' | 'user'>,
): readonly [team: string, user: string] => [
  team === null ? '-' : people.team(team)?.name || team,
  user === null ? '-' : people.user(user)?.name || user,
];
