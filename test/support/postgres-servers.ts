import { type PostgresOptions, type PostgresServer, startPostgres } from './postgres.ts';
import { laidDatabase } from './shared-postgres.ts';
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

/** An empty database on a server of its own, which ends with the scope. */
async function ownDatabase(options: PostgresOptions) {
  const server = await startPostgres(options);
  await server.create('servers');
  return { server, url: server.urlOf('servers'), [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** Starts so many servers with a new database. @param own whether the database's server is theirs alone, to be killed, and how it is */
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
