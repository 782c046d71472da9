import { STALE_AFTER_DAYS } from '../../../policy/models/figures.ts';
import { CLOCK_PROBLEM_MS, CLOCK_WARNING_MS, checkDatabaseClock, checkProviderClocks } from './clocks.ts';
import { CONNECTIONS_MIN, checkAudit, checkDatabase } from './database.ts';
import { checkDisk, FREE_PROBLEM_BYTES, FREE_WARNING_BYTES, LOG_WARNING_BYTES, sizeText } from './disk.ts';
import type { Check } from './finding.ts';
import { checkGuards } from './guards.ts';
import { checkPermissions } from './permissions.ts';
import { checkFigures, checkPolicy } from './policy.ts';
import { checkPorts } from './ports.ts';
import { checkProviders } from './providers.ts';
import { checkServers } from './servers.ts';
import { checkTokenSources } from './token-sources.ts';

/** All checks, in the order of their findings. The command, the console and the table of the documentation are made from this list. */
export const CHECKS: readonly Check[] = [
  {
    id: 'policy',
    title: 'Policy',
    examines: 'The policy can be loaded, and its last edit is active.',
    needs: null,
    run: checkPolicy,
  },
  {
    id: 'providers',
    title: 'Provider keys',
    examines:
      'Each provider that serves models accepts its key, and each key of a pool: one free call for its list of models. The list has the models of the policy; listed models without a known price are named. Model servers of your own that are set up can be reached.',
    needs: 'policy',
    run: checkProviders,
  },
  {
    id: 'guards',
    title: 'Guard services',
    examines: 'The service of each guard replies in the right form: one call with the text `Hello`.',
    needs: 'policy',
    run: checkGuards,
  },
  {
    id: 'figures',
    title: 'Age of prices',
    examines: `Prices and other figures of the models that can serve were checked in the last ${STALE_AFTER_DAYS} days, as \`as_of\` says.`,
    needs: 'policy',
    run: checkFigures,
  },
  {
    id: 'token_sources',
    title: 'Token sources',
    examines: 'Each token source of the credentials file has a valid token, and its last fetch succeeded.',
    needs: 'server',
    run: checkTokenSources,
  },
  {
    id: 'provider_clocks',
    title: 'Clock and providers',
    examines: `The clock of this machine, compared with the dates of the providers' answers. A warning from ${CLOCK_WARNING_MS / 1_000} s, a problem from ${CLOCK_PROBLEM_MS / 1_000} s, from which tokens and logins are refused.`,
    needs: 'policy',
    run: checkProviderClocks,
  },
  {
    id: 'database_clock',
    title: 'Clock and database',
    examines: 'The clock of the server, compared with the clock of the database, with the same limits.',
    needs: 'server',
    run: checkDatabaseClock,
  },
  {
    id: 'database',
    title: 'Database',
    examines: `It can be reached, and its tables fit this program. SQLite reads the tables in search of damage, for ten seconds. PostgreSQL has version 14 or later, safe settings and ${CONNECTIONS_MIN} free connections.`,
    needs: null,
    run: checkDatabase,
  },
  {
    id: 'audit',
    title: 'Last audit',
    examines: 'The last audit of the ledger by this server found nothing.',
    needs: 'server',
    run: checkAudit,
  },
  {
    id: 'servers',
    title: 'Servers',
    examines:
      'The servers that share the database run the same build and the same policy, and none has refused a policy. Slots for further servers are left.',
    needs: 'database',
    run: checkServers,
  },
  {
    id: 'disk',
    title: 'Disk',
    examines: `The disk of the data folder has room: a warning below ${sizeText(FREE_WARNING_BYTES)}, a problem below ${sizeText(FREE_PROBLEM_BYTES)}. The write-ahead log of SQLite has less than ${sizeText(LOG_WARNING_BYTES)}.`,
    needs: null,
    run: checkDisk,
  },
  {
    id: 'permissions',
    title: 'Permissions',
    examines:
      'Other users of the machine cannot read the data folder or the files with secrets, or change the policy folder or the credentials file. The server can write all files of the data folder.',
    needs: null,
    run: checkPermissions,
  },
  {
    id: 'ports',
    title: 'Ports',
    examines:
      'Which machines can connect to the server: a port without TLS and without a named proxy, `/metrics`, and guarded edits of the policy over HTTP. Without a server: whether the port of `HOST` and `PORT` is free, or which kind of program uses it.',
    needs: null,
    run: checkPorts,
  },
];
