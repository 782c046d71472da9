/** The part of the driver that `connection.ts` and the tests use. The driver has no types of its own. */
declare module 'pg' {
  import type { EventEmitter } from 'node:events';

  export interface ClientConfig {
    readonly connectionString?: string;
    readonly host?: string;
    readonly port?: number;
    readonly database?: string;
    readonly user?: string;
    readonly password?: string | (() => string);
    readonly ssl?: false | { readonly rejectUnauthorized: true; readonly ca?: string };
    readonly application_name?: string;
    readonly client_encoding?: string;
    readonly keepAlive?: boolean;
    /** A timeout in ms, like all timeouts below. */
    readonly keepAliveInitialDelayMillis?: number;
    readonly connectionTimeoutMillis?: number;
    readonly query_timeout?: number;
    /** Sends each statement without waiting for earlier answers. */
    readonly pipeline?: boolean;
    readonly types?: { getTypeParser(oid: number): (text: string) => unknown };
  }

  export interface QueryResult<Row> {
    readonly rows: Row[];
    readonly rowCount: number | null;
    readonly command: string;
  }

  export class Client extends EventEmitter {
    constructor(config: ClientConfig);
    /** The ID of the database server's process for this connection. */
    readonly processID: number | null;
    connect(): Promise<void>;
    query<Row>(
      query: string | { text: string; values?: unknown[]; name?: string; query_timeout?: number },
    ): Promise<QueryResult<Row>>;
    end(): Promise<void>;
    on(event: 'error' | 'end', listener: () => void): this;
    on(event: 'notification', listener: (message: { channel: string; payload?: string }) => void): this;
  }

  export function escapeIdentifier(name: string): string;
  export function escapeLiteral(text: string): string;
}
