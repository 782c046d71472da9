import { resolve } from 'node:path';
import type { DataArguments, HealthArguments, PolicyArguments, parseCommand } from './cli/options.ts';
import type { PolicyCommand } from './cli/policy/command.ts';
import { UsageError } from './core/usage-error.ts';
import { visibleLines } from './core/visible.ts';
import { databaseOf, labelsOnDisk, ledgerOnDisk, spoolOf } from './server/data.ts';
import type { Host } from './server/host.ts';
import { defaultPolicies, SHIPPED_POLICIES } from './server/shipped-policies.ts';
import { storeExists } from './store/open.ts';
import { scrub } from './telemetry/secrets.ts';

/** Every command but `serve`. Each loads what it needs and no more: the server's parts take ten times as long to load as a key to make. */
export type CommandLine = Exclude<ReturnType<typeof parseCommand>, { name: 'serve' }>;

/** The parts of the process that commands use. */
export interface CommandHost extends Pick<Host, 'version' | 'env' | 'now'> {
  /** Loads the plugins that come with Signalbox. */
  readonly shipped: () => Promise<Host['shipped']>;
  /** Whether the output goes to a terminal. */
  readonly terminal: boolean;
  /** Resolves once the text was taken, so that a slow reader is not outrun. */
  readonly write: (text: string) => Promise<void>;
  /** Writes to the standard error. */
  readonly warn: (text: string) => void;
  /** Reads the standard input to its end. */
  readonly input: () => Promise<string>;
  /** Turns Ctrl-C, SIGTERM and the end of the terminal into the operator's wish that a command end. */
  readonly ended: PolicyCommand['ended'];
  /** Keeps a policy's own code from the standard output, and from an exit code that looks like a result. */
  readonly mindPlugins: () => void;
  /** Reports promises that a plugin leaves rejected. */
  readonly mindDefects: () => void;
}

/** The line in which Signalbox says that something went wrong. */
export const complaint = (text: string): string => `signalbox: ${visibleLines(scrub(text))}\n`;

/** Runs a command to its end. Returns its exit code. Throws UsageError, or an Error of one clear sentence. */
export async function runCommand(command: CommandLine, host: CommandHost): Promise<number> {
  const { write } = host;
  switch (command.name) {
    case 'help':
      return write(command.text).then(() => 0);
    case 'version':
      return write(`${host.version}\n`).then(() => 0);
    case 'health':
      return askHealth(command, host);
    case 'policy':
      return policy(command, host);
    case 'plugin':
      return plugin(command.args, host);
    case 'import':
      return importFrom(command.args, host);
    case 'catalog':
      return catalog(command, host);
    case 'learn':
      return learn(command, host);
    case 'decisions':
      return decisions(command, host);
    case 'ledger':
      return ledger(command, host);
    case 'keys':
    case 'wallets':
      return keysOrWallets(command.name, command, host);
  }
}

async function askHealth({ args, port }: HealthArguments, { write }: CommandHost): Promise<number> {
  const { runHealth } = await import('./cli/health.ts');
  const { text, code } = await runHealth(args, port);
  await write(text);
  return code;
}

/** The tools that judge policies, which must fit the ledger in the data folder. */
async function judgeFor(data: string, { shipped, env, now }: CommandHost) {
  const { judgeTools } = await import('./server/policy.ts');
  return {
    ...judgeTools({ shipped: await shipped(), env, now }),
    ledger: await ledgerOnDisk(data),
    labels: await labelsOnDisk(data),
  };
}

async function policy({ args, folder, data }: PolicyArguments, host: CommandHost): Promise<number> {
  const { runPolicy } = await import('./cli/policy/policy.ts');
  host.mindPlugins();
  const { text, code } = await runPolicy(args, {
    ...host,
    judge: await judgeFor(data, host),
    folder,
    shippedFolder: defaultPolicies(data),
    database: databaseOf(data),
  });
  await host.write(text);
  return code;
}

async function plugin(args: readonly string[], { shipped, terminal, write }: CommandHost): Promise<number> {
  const { runPlugin } = await import('./cli/plugin/plugin.ts');
  const { text, code } = await runPlugin(args, { shipped: await shipped(), terminal });
  await write(text);
  return code;
}

async function importFrom(args: readonly string[], { shipped, now, write }: CommandHost): Promise<number> {
  const { runImport } = await import('./cli/import/import.ts');
  const { text, code } = await runImport(args, { shippedPolicies: SHIPPED_POLICIES, shipped: await shipped(), now });
  await write(text);
  return code;
}

async function catalog({ args, folder, data }: PolicyArguments, host: CommandHost): Promise<number> {
  const { runCatalog } = await import('./cli/catalog/catalog.ts');
  host.mindPlugins();
  await host.write(await runCatalog(args, { folder, judge: await judgeFor(data, host) }));
  return 0;
}

async function learn({ args, folder, data }: PolicyArguments, host: CommandHost): Promise<number> {
  const { runLearn } = await import('./cli/learn/learn.ts');
  const file = await existing(data);
  host.mindDefects();
  await runLearn(args, { ...host, judge: await judgeFor(data, host), folder, file });
  return 0;
}

async function decisions({ args, data }: DataArguments, { write }: CommandHost): Promise<number> {
  const file = await existing(data);
  const { runDecisions } = await import('./cli/decisions/decisions.ts');
  await write(await runDecisions(args, file));
  return 0;
}

async function ledger({ args, data }: DataArguments, { now, write, warn }: CommandHost): Promise<number> {
  const file = await existing(data);
  const [{ runLedger }, { otherLedgerIn }] = await Promise.all([
    import('./cli/ledger/ledger.ts'),
    import('./server/ledger-note.ts'),
  ]);
  // Books of another database, or of an older copy, are not this server's, though nothing in them is wrong.
  const fault = await otherLedgerIn(data);
  if (fault !== null) warn(`signalbox: ${fault}.\n`);
  const code = await runLedger(args, { file, spool: spoolOf(data), now, write, warn });
  return fault === null ? code : 2;
}

async function keysOrWallets(
  name: 'keys' | 'wallets',
  { args, data }: DataArguments,
  { now, write, warn }: CommandHost,
): Promise<number> {
  const file = await existing(data);
  const [{ isStoreLocked, openStore, readStore }, { openKeys }, note, served, run] = await Promise.all([
    import('./store/open.ts'),
    import('./access/keys.ts'),
    import('./server/trail-note.ts'),
    import('./operate/served.ts'),
    name === 'keys'
      ? import('./cli/keys/keys.ts').then(({ runKeys }) => runKeys)
      : import('./cli/wallets.ts').then(({ runWallets }) => runWallets),
  ]);
  // They read the ledger, too: a newer version is refused before anything is written.
  (await readStore(file, ['ledger'])).close();
  const store = await openStore(file, { mode: 'beside', rooms: ['access', 'payments'] });
  const keys = await openKeys({ store, now });
  try {
    const before = await note.lastChange(store);
    // Printed before the wait: a key is shown this once, and a wait can be interrupted.
    await write(await run(args, { keys, store, file, now }));
    const change = await note.lastChange(store);
    const isNoted = () => note.isChangeNoted(data, change);
    if (change > before && !(await served.servedChange(() => isStoreLocked(file), isNoted))) {
      warn(complaint(`The change is saved. ${served.NOT_SERVED}`));
    }
    return 0;
  } finally {
    keys.close();
    await store.close();
  }
}

/** Returns the database in a data folder. Throws UsageError where there is none. */
async function existing(data: string): Promise<string> {
  const file = databaseOf(data);
  if (await storeExists(file)) return file;
  throw new UsageError(
    `There is no database in ${resolve(data)}; start the server once, or name its folder with --data.`,
  );
}
