import type { ReadOf } from '../../api/reads.ts';

export type TrailRow = ReadOf<'/admin/trail'>['data'][number];

const ACTIONS: Readonly<Record<string, string>> = {
  create: 'Created',
  change: 'Changed',
  install: 'Installed',
  rotate: 'Rotated',
  suspend: 'Suspended',
  resume: 'Resumed',
  revoke: 'Revoked',
  grant: 'Granted Credits',
  remove: 'Removed',
  refund: 'Refunded',
  block: 'Blocked',
  unblock: 'Unblocked',
  load: 'Loaded',
  reconcile: 'Reconciled',
  reset: 'Reset',
  replay: 'Replayed',
  erase: 'Erased words',
  anchor: 'Shortened',
  sign_in: 'Opened',
  end: 'Ended',
};

/** An action that this version does not know is shown by its name. */
export const actionText = (action: TrailRow['action']): string => ACTIONS[action] ?? action;

const ACTORS: Readonly<Record<TrailRow['actor']['kind'], string>> = {
  cli: 'command',
  key: 'key',
  user: 'person',
  token: 'workload',
  wallet: 'wallet',
  server: 'server',
};

/** Names the actor of an entry: "alice (command)", "The server". */
export const actorText = ({ actor }: Pick<TrailRow, 'actor'>, nameOf: (id: string) => string): string =>
  actor.name === null
    ? actor.kind === 'server'
      ? 'The server'
      : `Erased (${ACTORS[actor.kind]})`
    : `${nameOf(actor.name)} (${ACTORS[actor.kind]})`;
