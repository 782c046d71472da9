import { GROUPS, type OperationGroup } from '../admin/groups.ts';
import type { CommandDefinition } from './command.ts';

/**
 * The commands that are not commands of operations, in the order of the help. Null is the place of an operation among them; other
 * operations of the group come first. A command loads only its own module.
 */
const COMMANDS = {
  init: async () => (await import('./init.ts')).init,
  restart: async () => (await import('./restart.ts')).restart,
  health: async () => (await import('./health.ts')).health,
  'policy check': async () => (await import('./policy/check.ts')).policyCheck,
  'policy test': async () => (await import('./policy/test.ts')).policyTest,
  'policy explain': async () => (await import('./policy/explain.ts')).policyExplain,
  'policy diff': async () => (await import('./policy/diff.ts')).policyDiff,
  'policy schema': async () => (await import('./policy/schema.ts')).policySchemaCommand,
  'policy push': async () => (await import('./policy/push.ts')).policyPush,
  'policy history': null,
  'policy rollback': async () => (await import('./policy/push.ts')).policyRollback,
  'catalog update': async () => (await import('./catalog/catalog.ts')).catalogUpdate,
  'ledger export': async () => (await import('./ledger/ledger.ts')).ledgerExport,
  'ledger reconcile': async () => (await import('./ledger/reconcile.ts')).ledgerReconcile,
  'ledger audit': async () => (await import('./ledger/ledger.ts')).ledgerAudit,
  'ledger refund': async () => (await import('./ledger/ledger.ts')).ledgerRefund,
  'ledger backup': async () => (await import('./ledger/ledger.ts')).ledgerBackup,
  'traffic rebuild': async () => (await import('./traffic.ts')).trafficRebuild,
  'trail verify': async () => (await import('./trail.ts')).trailVerify,
  'trail export': async () => (await import('./trail.ts')).trailExport,
  'learn export': async () => (await import('./learn.ts')).learnExport,
  'learn reset': async () => (await import('./learn.ts')).learnReset,
  'db status': async () => (await import('./database.ts')).dbStatus,
  'db accept': async () => (await import('./database.ts')).dbAccept,
  'db migrate': async () => (await import('./database.ts')).dbMigrate,
  'db copy': async () => (await import('./database.ts')).dbCopy,
  'plugin new': async () => (await import('./plugin/new.ts')).pluginNew,
  'plugin test': async () => (await import('./plugin/test.ts')).pluginTest,
  'import litellm': async () => (await import('./import/import.ts')).importCommand,
  version: async () => (await import('./version.ts')).version,
} satisfies Readonly<Record<string, (() => Promise<CommandDefinition>) | null>>;

type FirstWord<Name extends string> = Name extends `${infer First} ${string}` ? First : Name;

/** The first word of a command. */
export type GroupName = keyof typeof GROUPS | FirstWord<keyof typeof COMMANDS>;

const firstWord = (name: string): string => name.split(' ', 1)[0] ?? '';

/** The first words of all commands, in the order of the help. */
export const GROUP_NAMES: ReadonlySet<string> = new Set([
  ...['init', 'restart', 'health'],
  ...Object.keys(GROUPS),
  ...Object.keys(COMMANDS).map(firstWord),
]);

export const isGroup = (word: string): word is GroupName => GROUP_NAMES.has(word);

/** Returns the group of operations that are commands with this first word; null if there is none. */
export const groupNamed = (name: string): OperationGroup | null => byName<OperationGroup>(GROUPS, name);

/** Loads a command that is not the command of an operation; null if there is none with this name. */
export const commandNamed = async (name: string): Promise<CommandDefinition | null> =>
  (await byName<(() => Promise<CommandDefinition>) | null>(COMMANDS, name)?.()) ?? null;

const byName = <Row>(table: Readonly<Record<string, Row>>, name: string): Row | null =>
  Object.hasOwn(table, name) ? (table[name] ?? null) : null;

/** The names of the commands with a first word, in the order of the help. */
export async function namesIn(group: string): Promise<readonly string[]> {
  const own = Object.keys(COMMANDS).filter((name) => firstWord(name) === group);
  const operations = (await groupNamed(group)?.operations()) ?? [];
  const names = operations.filter(({ command }) => command !== false).map(({ name }) => name);
  return [...new Set([...names.filter((name) => !own.includes(name)), ...own])];
}
