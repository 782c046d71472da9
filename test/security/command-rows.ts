import { GROUPS } from '../../src/admin/groups.ts';
import type { Action } from '../../src/admin/use-cases/roles.ts';

/** The objects in the prepared data folder that commands work on, and files outside it. */
export interface Seat {
  readonly policies: string;
  /** The policy folder with a change. */
  readonly revised: string;
  /** A folder for files that commands write. */
  readonly out: string;
  /** A server that runs on other data. */
  readonly server: string;
  /** The IDs of a key, of a decision of that key, and of a login. */
  readonly key: string;
  readonly decision: string;
  readonly login: string;
}

export interface CommandRow {
  /** The arguments of each run in order; `--data` is added if the command accepts it. */
  readonly runs: (seat: Seat) => readonly (readonly string[])[];
  /** The actions that the command uses as operator. */
  readonly takes: readonly Action[];
  /** The entries that the command writes to the audit trail, oldest first: the action and the kind of its subject. */
  readonly leaves?: readonly string[];
}

/** A placeholder for the key ID of the seat. */
const KEY = '{key}';
export const SUBJECT = `subject_${'0a'.repeat(16)}`;
const WALLET = `0x${'ab'.repeat(20)}`;

const once = (takes: readonly Action[], ...words: readonly string[]): CommandRow => ({
  runs: ({ key }) => [words.map((word) => (word === KEY ? key : word))],
  takes,
});
const changing = (action: Action, leaves: string, ...words: readonly string[]): CommandRow => ({
  ...once([action], ...words),
  leaves: [leaves],
});

/** The commands of operations that only read and need no ID. They run without arguments, and use the action of their operation. */
async function readingRows(): Promise<Record<string, CommandRow>> {
  const groups = await Promise.all(Object.values(GROUPS).map(({ operations }) => operations()));
  const reading = groups.flat().filter(({ method, takesId }) => method === 'GET' && !takesId);
  return Object.fromEntries(reading.map(({ name, action }) => [name, once([action])]));
}

/** What all other commands do, and reading commands that need arguments or use further actions. */
const STATED_ROWS: Readonly<Record<string, CommandRow>> = {
  // Commands that only use a policy or a file, or that start the server, need no action.
  serve: { runs: ({ policies }) => [['--port', '0', '--policies', policies]], takes: [] },
  // The parent of the processes does the work, as after a signal.
  restart: once([]),
  init: { runs: ({ out }) => [[`${out}/begun`]], takes: [] },
  health: { runs: ({ server }) => [['--url', server]], takes: [] },
  version: once([]),
  'policy check': { runs: ({ policies }) => [[policies]], takes: [] },
  'policy test': { runs: ({ policies }) => [[policies]], takes: [] },
  'policy diff': { runs: ({ policies }) => [[policies, policies]], takes: [] },
  'policy schema': { runs: ({ policies }) => [[policies]], takes: [] },
  'policy push': {
    runs: ({ policies, revised }) => [[policies], [revised, '--from', '1']],
    takes: ['policy.write'],
    leaves: ['change policy_files', 'load policy', 'change policy_files', 'load policy'],
  },
  'policy rollback': { ...once(['policy.write'], '1'), leaves: ['change policy_files', 'load policy'] },
  'policy explain': {
    runs: ({ policies, key, decision }) => [
      [policies, '--key', key],
      [policies, '--decision', decision],
    ],
    takes: ['keys.read', 'ledger.read', 'decisions.explain'],
  },
  'catalog update': { runs: ({ policies }) => [['far', '--policies', policies]], takes: [] },
  'plugin new': { runs: ({ out }) => [['strategy', 'mine', '--dir', out]], takes: [] },
  'plugin test': { runs: ({ out }) => [[`${out}/mine`, '--runs', '1']], takes: [] },
  'import litellm': { runs: ({ out }) => [[`${out}/litellm.yaml`, '--out', `${out}/imported`]], takes: [] },

  'teams create': changing('teams.change', 'create team', '--name', 'ads'),
  'teams show': once(['people.read'], 'ads'),
  'teams change': changing('teams.change', 'change team', 'ads', '--name', 'ads-two'),
  'teams delete': changing('teams.change', 'remove team', 'ads-two'),
  'users create': changing('people.change', 'create user', '--name', 'Eve', '--email', 'eve@example.com'),
  'users show': once(['people.read'], 'eve@example.com'),
  'users change': changing('people.change', 'change user', 'eve@example.com', '--role', 'auditor'),
  'users suspend': changing('people.change', 'suspend user', 'eve@example.com'),
  'users resume': changing('people.change', 'resume user', 'eve@example.com'),
  'users delete': {
    ...once(['people.change'], 'eve@example.com'),
    // The user's logins end at once, even if a key cannot be revoked yet.
    leaves: ['suspend user', 'remove user'],
  },
  'keys create': changing('keys.change', 'create key', '--name', 'made', '--scope', 'admin'),
  'keys import': {
    runs: ({ out }) => [[`${out}/keys.csv`], [`${out}/keys.csv`, '--apply']],
    takes: ['keys.import'],
    leaves: ['create key'],
  },
  'keys show': once(['keys.read'], KEY),
  'keys change': changing('keys.change', 'change key', KEY, '--name', 'renamed'),
  'keys grant': { ...once(['keys.grant', 'keys.read'], KEY, '5'), leaves: ['grant key'] },
  'keys rotate': changing('keys.change', 'rotate key', KEY),
  'keys suspend': changing('keys.suspend', 'suspend key', KEY),
  'keys resume': changing('keys.suspend', 'resume key', KEY),
  'keys revoke': { ...changing('keys.change', 'revoke key', KEY), takes: ['keys.change', 'keys.read'] },
  'keys log': once(['trail.read']),
  'logins end': { runs: ({ login }) => [[login]], takes: ['logins.end'], leaves: ['end login'] },
  'subjects show': once(['subjects.read'], SUBJECT),
  'subjects block': {
    ...changing('subjects.change', 'block subject', SUBJECT),
    takes: ['subjects.change', 'subjects.read'],
  },
  'subjects unblock': {
    ...changing('subjects.change', 'unblock subject', SUBJECT),
    takes: ['subjects.change', 'subjects.read'],
  },
  'wallets credit': { ...once(['wallets.change', 'wallets.read'], WALLET, '5'), leaves: ['grant wallet'] },
  'wallets show': once(['wallets.read'], WALLET),
  'wallets block': { ...once(['wallets.change', 'wallets.read'], WALLET), leaves: ['block wallet'] },
  'wallets unblock': { ...once(['wallets.change', 'wallets.read'], WALLET), leaves: ['unblock wallet'] },
  doctor: { runs: ({ policies }) => [['--policies', policies]], takes: ['status.read'] },
  'alerts list': { runs: ({ policies }) => [['--policies', policies]], takes: ['alerts.read'] },
  'alerts test': { runs: ({ policies }) => [['--policies', policies]], takes: ['alerts.test'] },
  'decisions show': { runs: ({ decision }) => [[decision]], takes: ['decisions.list'] },
  'learn export': once(['learning.read']),
  'learn reset': {
    runs: ({ policies }) => [['--yes', '--policies', policies]],
    takes: ['learning.change'],
    leaves: ['reset learning'],
  },
  'ledger usage': once(['ledger.read', 'usage.read']),
  'ledger export': once(['ledger.read']),
  'ledger reconcile': {
    runs: ({ out }) => [[`${out}/bill.json`, '--provider', 'sim']],
    takes: ['ledger.read'],
  },
  'ledger audit': once(['ledger.read']),
  'ledger refund': {
    runs: ({ decision }) => [[decision]],
    takes: ['ledger.read', 'ledger.refund'],
    leaves: ['refund decision'],
  },
  'ledger backup': { runs: ({ out }) => [[`${out}/copy.db`]], takes: ['ledger.copy'] },
  'db copy': {
    runs: ({ out }) => [[`${out}/copy.db`, `${out}/copy-of-it.db`]],
    takes: ['database.change', 'ledger.copy'],
  },
  'db status': once(['status.read'], '--json'),
  'db accept': once(['database.change']),
  'db migrate': once(['database.change', 'status.read']),
  'traffic rebuild': once(['traffic.rebuild']),
  'trail verify': once(['trail.read']),
  'trail export': once(['trail.read']),
  'trail erase': changing('trail.erase', 'erase trail', '--subject', KEY, '--yes'),
};

/** What every command does, in an order in which each command finds the objects that it needs. */
export const COMMANDS: Readonly<Record<string, CommandRow>> = { ...(await readingRows()), ...STATED_ROWS };

/** Commands that use no data folder. */
export const WITHOUT_DATA: ReadonlySet<string> = new Set([
  'health',
  'init',
  'version',
  'plugin new',
  'plugin test',
  'import litellm',
]);

/** Actions that no command uses. */
export const NO_COMMAND: readonly Action[] = [
  // These actions are about the caller.
  ...([
    'usage.own',
    'feedback.give',
    'me.read',
    'keys.delegate',
    'wallets.own',
    'wallets.pay',
    'payments.own',
  ] as const),
  // These actions are about a running server.
  ...([
    'models.read',
    'models.list',
    'decisions.repeat',
    'events.read',
    'policy.reload',
    'playground.send',
    // `ledger audit` reads the database with the action `ledger.read`.
    'ledger.audit',
  ] as const),
  // Commands on files need no role.
  ...(['policy.check', 'policy.explain'] as const),
  // Only requests have these actions.
  ...(['content.read', 'payments.read', 'payments.change'] as const),
];
