#!/usr/bin/env -S BUN_CONFIG_MAX_HTTP_REQUESTS=65336 bun --no-install --max-http-header-size=262144
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import manifest from '../package.json' with { type: 'json' };
import { shipped } from '../plugins/index.ts';
import { openKeys } from './access/keys.ts';
import { accessMigrations } from './access/tables.ts';
import { runImport } from './cli/import/import.ts';
import { runKeys } from './cli/keys/keys.ts';
import { runLearn } from './cli/learn/learn.ts';
import { runLedger } from './cli/ledger/ledger.ts';
import { parseCommand, UsageError } from './cli/options.ts';
import { runPlugin } from './cli/plugin/plugin.ts';
import { runPolicy } from './cli/policy/policy.ts';
import type { CommandResult } from './cli/result.ts';
import { runWallets } from './cli/wallets.ts';
import { steady } from './core/clock.ts';
import { certificateBody } from './http/certificate.ts';
import { decisionBody, factsBody } from './http/decisions.ts';
import { compileCheck } from './http/validation.ts';
import { paymentMigrations } from './payments/table.ts';
import { databaseOf, ledgerOnDisk } from './server/data.ts';
import type { Host } from './server/host.ts';
import { judgeTools } from './server/policy.ts';
import { serve } from './server/serve.ts';
import { openSqlite } from './store/sqlite.ts';
import { scrub } from './telemetry/secrets.ts';

/** The commands. */

const terminal = (stream: NodeJS.WriteStream) => ({
  write: (text: string): void => void stream.write(text),
  isTerminal: stream.isTTY === true,
});
const host: Host = {
  version: manifest.version,
  shipped,
  out: terminal(process.stdout),
  err: terminal(process.stderr),
  env: (name) => process.env[name],
  now: steady(Date.now),
  clock: () => performance.now(),
};
/** Resolves once the text was taken, so that who reads slowly is not outrun. Who has read enough ends it. */
const write = (text: string): Promise<void> =>
  new Promise((done, failed) =>
    process.stdout.write(text, (error) => {
      if (!error) done();
      else if ('code' in error && error.code === 'EPIPE') process.exit(0);
      else failed(error);
    }),
  );

/** What policies are judged with; they must fit to the ledger in the data folder. */
const judgeFor = async (data: string) => ({ ...judgeTools(host), ledger: await ledgerOnDisk(data) });

/** Says what a command came to. */
async function told({ text, code }: CommandResult): Promise<void> {
  await write(text);
  process.exitCode = code;
}

/** Aborted by Ctrl-C or SIGTERM. */
function ended(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => controller.abort());
  return controller.signal;
}

async function main(): Promise<void> {
  const { now } = host;
  const shippedPolicies = join(import.meta.dir, '..', 'policies');
  const command = parseCommand(process.argv.slice(2), process.env, shippedPolicies);
  if (command.name === 'help') return host.out.write(command.text);
  if (command.name === 'version') return host.out.write(`${host.version}\n`);
  if (command.name === 'serve') return serve(command.options, host);
  if (command.name === 'policy') {
    const { folder, args } = command;
    return told(
      await runPolicy(args, {
        judge: await judgeFor(command.data),
        folder,
        database: databaseOf(command.data),
        terminal: host.out.isTerminal,
        input: () => Bun.stdin.text(),
        write,
        ended,
        http: { compileCheck, factsBody, certificateBody, decisionBody },
      }),
    );
  }
  if (command.name === 'plugin') return told(await runPlugin(command.args, { shipped, terminal: host.out.isTerminal }));
  if (command.name === 'import') {
    const today = new Date(now()).toISOString().slice(0, 10);
    return told(await runImport(command.args, { shippedPolicies, today, terminal: host.out.isTerminal }));
  }
  if (!existsSync(databaseOf(command.data))) {
    throw new UsageError(
      `There is no database in ${resolve(command.data)}; start the server once, or name its folder with --data.`,
    );
  }
  if (command.name === 'learn') {
    const { folder, args } = command;
    await runLearn(args, {
      judge: await judgeFor(command.data),
      folder,
      file: databaseOf(command.data),
      terminal: host.out.isTerminal,
      now,
      write,
    });
    return;
  }
  if (command.name === 'ledger') {
    process.exitCode = await runLedger(command.args, { file: databaseOf(command.data), now, write });
    return;
  }
  const file = databaseOf(command.data);
  const store = await openSqlite(file, [accessMigrations, paymentMigrations]);
  const keys = await openKeys({ store, now });
  try {
    const run = command.name === 'keys' ? runKeys : runWallets;
    host.out.write(await run(command.args, { keys, store, file, now }));
  } finally {
    keys.close();
    await store.close();
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`signalbox: ${scrub(error instanceof Error ? error.message : String(error))}\n`);
  process.exit(1);
});
