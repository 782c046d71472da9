import { type PostgresOptions, type PostgresServer, startPostgres } from './postgres.ts';
import { makeTestKey, type Signalbox, type StartOptions, startSignalbox } from './signalbox.ts';

/** Servers at one PostgreSQL, which end with the scope. */
export interface PostgresServers extends AsyncDisposable {
  readonly database: PostgresServer;
  /** Of the database that they share. */
  readonly url: string;
  readonly servers: readonly Signalbox[];
  /** Starts one more. */
  start(options?: StartOptions): Promise<Signalbox>;
  /** Ends and forgets one. */
  stop(server: Signalbox): Promise<void>;
}

/** A database as servers demand it. One serves all tests of the process. */
let shared: Promise<PostgresServer> | null = null;
let made = 0;

/** Starts so many servers with a new database. @param own whether the database's server is theirs alone, to be killed, and how it is */
export async function startServers(
  count: number,
  options: StartOptions = {},
  own: boolean | PostgresOptions = false,
): Promise<PostgresServers> {
  if (!own) shared ??= startPostgres({ isDurable: true });
  const database = own ? await startPostgres({ isDurable: true, ...(own === true ? {} : own) }) : await shared!;
  const name = `servers_${++made}`;
  await database.create(name);
  const url = database.urlOf(name);
  const env = { SIGNALBOX_API_KEY: makeTestKey(), ...options.env, DATABASE_URL: url };
  const servers: Signalbox[] = [];
  const start = async (more: StartOptions = {}) => {
    const server = await startSignalbox({ ...options, ...more, env: { ...env, ...more.env } });
    servers.push(server);
    return server;
  };
  for (let i = 0; i < count; i++) await start();
  return {
    ...{ database, url, servers, start },
    async stop(server) {
      servers.splice(servers.indexOf(server), 1);
      await server.stop();
    },
    async [Symbol.asyncDispose]() {
      for (const server of servers) await server.stop();
      if (own) await database[Symbol.asyncDispose]();
      else await database.drop(name);
    },
  };
}
