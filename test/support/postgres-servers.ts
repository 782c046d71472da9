import { type PostgresOptions, type PostgresServer, startPostgres } from './postgres.ts';
import { laidDatabase } from './shared-postgres.ts';
import { makeTestKey, type Signalbox, type StartOptions, startSignalbox } from './signalbox.ts';

/** Servers that share one PostgreSQL database. The servers stop at the end of the scope. */
export interface PostgresServers extends AsyncDisposable {
  readonly database: PostgresServer;
  /** The URL of the shared database. */
  readonly url: string;
  readonly servers: readonly Signalbox[];
  /** Starts another server. */
  start(options?: StartOptions): Promise<Signalbox>;
  /** Stops and forgets a server. */
  stop(server: Signalbox): Promise<void>;
}

/** Makes an empty database on a separate PostgreSQL server, which stops at the end of the scope. */
async function ownDatabase(options: PostgresOptions) {
  const server = await startPostgres(options);
  await server.create('servers');
  return { server, url: server.urlOf('servers'), [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/**
 * Starts this many servers with a new database. @param own true or options for a separate PostgreSQL server, which the test can kill; false for
 * the shared server
 */
export async function startServers(
  count: number,
  options: StartOptions = {},
  own: boolean | PostgresOptions = false,
): Promise<PostgresServers> {
  const database = own ? await ownDatabase(own === true ? {} : own) : await laidDatabase();
  const { server: postgres, url } = database;
  const env = { SIGNALBOX_API_KEY: makeTestKey(), ...options.env, DATABASE_URL: url };
  const servers: Signalbox[] = [];
  const start = async (more: StartOptions = {}) => {
    const server = await startSignalbox({ ...options, ...more, env: { ...env, ...more.env } });
    servers.push(server);
    return server;
  };
  for (let i = 0; i < count; i++) await start();
  return {
    ...{ database: postgres, url, servers, start },
    async stop(server) {
      servers.splice(servers.indexOf(server), 1);
      await server.stop();
    },
    async [Symbol.asyncDispose]() {
      for (const server of servers) await server.stop();
      await database[Symbol.asyncDispose]();
    },
  };
}
